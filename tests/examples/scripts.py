"""A script of examples/ as a module, for tests that bring the server that it needs."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def example(name: str) -> ModuleType:
    spec = spec_from_file_location(f"examples_{name}", Path(__file__).parents[2] / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
