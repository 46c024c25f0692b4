"""An install without extras: every module that an extra brings is hidden, as if it had never been installed."""

from dalenius.cli.output import _EXTRAS

WITHOUT_EXTRAS = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(_EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""
