"""An analyst needs the core install and a release document: no data engine, no optional package, no slow import."""

import subprocess
import sys

FORBIDDEN = (
    "duckdb",
    "pyarrow",
    "dalenius.engines",
    "dalenius.curator",
    "dalenius.ledger",
    "dalenius.spec",
    "matplotlib",
    "pandas",
    "statsmodels",
    "scipy.stats",
    "dp_accounting",
    "mpmath",
    "pydantic",
)

PROGRAM = """
import sys
import dalenius.inference as inference
from dalenius.publish.to_json import from_json, write_json
loaded = [name for name in {forbidden!r} if name in sys.modules]
assert not loaded, loaded
"""

ANALYSIS = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import numpy as np
from fractions import Fraction
from dalenius.core import registry
from dalenius.core.law import Additive
from dalenius import inference
law = Additive(registry.get("mechanisms", "discrete_laplace")(rate=Fraction(1)))
seen = inference.from_values([[30, 12], [9, 25]], law)
assert inference.independence(seen, replicates=99).p_value < 0.05
assert inference.intervals(seen, kind="parameter").lower[0] > 10
assert inference.loglinear(seen, "A + B").deviance > 5
assert inference.odds_ratio(seen).interval.lower > 1
assert inference.posterior(seen, draws=50, burn_in=20).counts.shape == (4, 50, 4)
assert inference.goodness_of_fit(seen, replicates=99).p_value < 0.05
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_inference_imports_no_engine_and_nothing_slow() -> None:
    run(PROGRAM.format(forbidden=FORBIDDEN))


def test_the_core_install_is_enough_to_analyse() -> None:
    blocked = (
        "duckdb",
        "pyarrow",
        "matplotlib",
        "pandas",
        "statsmodels",
        "dp_accounting",
        "mpmath",
        "dalenius.engines",
    )
    run(ANALYSIS.format(blocked=blocked))
