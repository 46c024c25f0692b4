"""Who asks for a count loads no other method: a process that releases one table begins sooner."""

import subprocess
import sys

SCRIPT = """
import sys, tempfile
from pathlib import Path
from dalenius import Curator
variables = {"kind": {"categories": ["a", "b"]}}
policy = {"budget": {"rho": 100, "delta": "1e-6"}}
with tempfile.TemporaryDirectory() as folder:
    ledger = Path(folder) / "ledger.sqlite"
    rows = Path(folder) / "rows.csv"
    rows.write_text("kind\\na\\nb\\n")
    document = {"dataset": {"name": "d", "population": "p", "source": str(rows)}, "variables": variables}
    with Curator.open(document, ledger=ledger, policy=policy) as curator:
        curator.register()
        curator.release({"table": {"rows": ["kind"]}, "privacy": {"definition": "pure", "epsilon": "1"}})
print(*(name for name in sys.modules if name.startswith(("dalenius.methods.", "scipy", "pandas"))))
"""


def test_a_count_loads_neither_other_methods_nor_packages_that_it_does_not_use() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "dalenius.methods.count" in loaded
    others = {n for n in loaded if n.count(".") == 2 and n.startswith("dalenius.methods.") and "._" not in n}
    assert others <= {"dalenius.methods.count", "dalenius.plans.margins"}
    assert not [name for name in loaded if name.startswith(("scipy", "pandas"))]
