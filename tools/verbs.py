"""Write the types of the curator's verbs from the measures: python tools/verbs.py"""

import subprocess
import sys
from pathlib import Path

from dalenius.core import registry
from dalenius.curator.verbs import shared_parameters, signature_of

PLACE = Path(__file__).parents[1] / "src/dalenius/curator/verbs.pyi"
HEAD = '''"""Types of the verbs of a curator, made from the measures by tools/verbs.py."""

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Literal, TypedDict, Unpack, overload

from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.spec.table import Amount, Axes

def signature_of(measure: str) -> Signature: ...
def shared_parameters() -> dict[str, Parameter]: ...
def document_of(measure: str) -> str: ...

class _Shared(TypedDict, total=False):
'''


def stub() -> str:
    """The text of the stub: each verb with its own keys, once for a release and once for a plan."""
    shared = shared_parameters()
    lines = [f"    {name}: {each.annotation}" for name, each in shared.items() if name != "weight"]
    lines += [
        "",
        "class _Weighted(_Shared, total=False):",
        f"    weight: {shared['weight'].annotation}",
        "",
        "class MeasureVerbs:",
    ]
    for measure in registry.own("methods"):
        parameters = signature_of(measure).parameters
        keys = "_Weighted" if "weight" in parameters else "_Shared"
        own = [
            f"{name}: {each.annotation} = ..."
            for name, each in parameters.items()
            if name not in ("of", "by", "plan", *shared)
        ]
        of = ["of: str"] if "of" in parameters else []
        for plan, answer in (("Literal[False] = ...", "Release"), ("Literal[True]", "TablePlan")):
            first = ", ".join(["self", *of, "*", "by: Axes = ...", *own, f"plan: {plan}", f"**keys: Unpack[{keys}]"])
            lines += ["    @overload", f"    def {measure}({first}) -> {answer}: ..."]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PLACE.write_text(stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(PLACE)], check=True)
