"""The kits of estimators and of errors are red for each fault that is planted in an estimator without a test of its own,
within five CPU seconds.

The estimator is a coefficient of variation, beside a method that is a value of a few lines; its honest form is green.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time

import pytest

from dalenius.core import registry
from dalenius.testing import error_kit, error_worlds, estimator_kit
from dalenius.testing.simulated import QUICK
from dalenius_lab.planting import planted

SECONDS = 5.0
NAME = "planted_estimate"
HEAD = """
from fractions import Fraction

import numpy as np

from dalenius.algebra.dual import Dual, sqrt
from dalenius.algebra.estimator import Estimator, Need, Quotient, Scale

__all__ = ["PLANTED"]
"""
VARIATION = (
    HEAD
    + """
def _variance(s):
    return s.bessel() * (s["x x"] / s["1"] - s.mean_product("x", "x"))


def _value(s):
    mean = s.about_zero("x") / s["1"]
    value = sqrt(_variance(s)) / mean
    return value


def _guards(s):
    return s["1"], s.about_zero("x"), _variance(s)


PLANTED = Estimator(
    name="planted_estimate",
    degree=0,
    reads=(Need("1"), Need("x"), Need("x x")),
    value=_value,
    guards=_guards,
    scale=Scale.LOG,
    limits=lambda bounds: (Fraction(0) if bounds["x"].low >= 0 else "-inf", "inf"),
    least=2,
)
"""
)
MEAN = (
    HEAD
    + """
PLANTED = Estimator(
    name="planted_estimate",
    degree=0,
    reads=(Need("1"), Need("x")),
    value=lambda s: Quotient(s["x"], s["1"]),
    units={"x": 1},
    is_location=True,
    scale=Scale.PLAIN,
    limits=lambda bounds: (bounds["x"].lower, bounds["x"].upper),
    least=1,
)
"""
)
METHOD = """
from dalenius.methods._plan import EstimateMethod
from dalenius.spec.method import Words, example
from dalenius.translation import translated

__all__ = ["PLANTED"]

PLANTED = EstimateMethod(
    name="planted_estimate",
    words=translated(Words(title="Estimate of {of}", preview="± {error}", caption="± {level}")),
    examples=(example(rows=["sex"], measure="planted_estimate", of="income", rho=1),),
)
"""


@dataclass(frozen=True)
class Plant:
    """A line of an estimator, what is written in its place, and the judgement of a kit that notices."""

    line: str
    wrong: str
    judgement: str
    is_simulated: bool = True
    estimator: str = VARIATION


def gradient_times(factors: str) -> str:
    return f"    return Dual(value.values, value.gradient * {factors})"


def sampling_times(factor: float) -> str:
    return (
        f"    least=2,\n    spread=lambda s, v: ({factor} * s.squares(v).values, {factor**2} * s.squares(v).variance),"
    )


RETURN, LEAST = "    return value", "    least=2,"
FAULTS = {
    "a halved standard error": Plant(RETURN, gradient_times("0.5"), "coverage"),
    "a halved standard error of sampling": Plant(LEAST, sampling_times(0.25), "coverage"),
    "a forgotten sampling term": Plant(LEAST, sampling_times(0.0), "coverage"),
    "a forgotten sampling term, exactly": Plant(LEAST, sampling_times(0.0), "sampling", False),
    "a partial derivative that is 10 % too large": Plant(RETURN, gradient_times("[[1], [1.1], [1]]"), "gradient"),
    "the other partial derivative": Plant(RETURN, gradient_times("[[1], [1], [1.1]]"), "gradient", False),
    "a partial derivative by the number of rows": Plant(RETURN, gradient_times("[[1.1], [1], [1]]"), "gradient", False),
    "a variance of noise 1.3 times too large": Plant(RETURN, gradient_times("1.3**0.5"), "gradient"),
    "a variance of sampling 1.3 times too large": Plant(LEAST, sampling_times(1.3), "variance"),
    "a variance of sampling 1.3 times too large, exactly": Plant(LEAST, sampling_times(1.3), "sampling", False),
    "a value without its derivative": Plant(
        's.about_zero("x") / s["1"]', '(s.about_zero("x") / s["1"]).values', "gradient"
    ),
    "limits that are ignored": Plant('bounds["x"].lower, bounds["x"].upper', '"-inf", "inf"', "limits", True, MEAN),
    "limits that are too narrow": Plant('bounds["x"].upper', 'bounds["x"].lower + 20', "limits", False, MEAN),
    "a scale that leaves the range of the number": Plant("Scale.PLAIN", "Scale.FISHER", "limits", True, MEAN),
    "the scale of a share": Plant("Scale.PLAIN", "Scale.SCORE", "coverage", True, MEAN),
    "a wrong degree": Plant("degree=0", "degree=1", "degree", False),
    "a wrong unit": Plant('units={"x": 1}', 'units={"x": 2}', "units", False, MEAN),
    "a guard forgotten": Plant('s.about_zero("x"), _variance(s)', "_variance(s)", "guard", False),
    "a guard of a root forgotten": Plant(", _variance(s)\n", "\n", "degenerate"),
    "a sum read about the wrong centre": Plant('mean = s.about_zero("x")', 'mean = s["x"]', "centre", False),
    "a sum read about the wrong centre, simulated": Plant('mean = s.about_zero("x")', 'mean = s["x"]', "coverage"),
    "a centre that is not added": Plant("is_location=True", "is_location=False", "centre", False, MEAN),
}


@contextmanager
def planted_files(text: str) -> Iterator[None]:
    """An estimator, and its method."""
    with planted("estimators", NAME, text), planted("methods", NAME, METHOD):
        yield


def judge(exceptions: Mapping[str, Mapping[str, str]], *, is_simulated: bool) -> None:
    if is_simulated:
        assert error_kit.check(registry.get("methods", NAME), exceptions) == 1
    else:
        estimator_kit.check(registry.get("estimators", NAME))


@pytest.fixture(scope="module", autouse=True)
def files() -> None:
    """Files that all judgements share are made once."""
    for world in error_worlds.WORLDS:
        error_worlds.sampled(world)
        error_worlds.expected(world)
    error_worlds.degenerate(QUICK.cells)


@pytest.mark.parametrize("text", [VARIATION, MEAN], ids=["variation", "mean"])
def test_the_honest_estimator_is_green(text: str) -> None:
    with planted_files(text):
        judge({}, is_simulated=False)
        judge({}, is_simulated=True)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kit_catches(fault: str) -> None:
    plant = FAULTS[fault]
    assert plant.line in plant.estimator
    with planted_files(plant.estimator.replace(plant.line, plant.wrong)):
        registry.get("methods", NAME)
        started = process_time()
        with pytest.raises(AssertionError, match=f"[:;] {plant.judgement} (in|of) "):
            judge({}, is_simulated=plant.is_simulated)
        assert process_time() - started < SECONDS


def test_a_listed_judgement_that_is_kept_is_an_error() -> None:
    with planted_files(MEAN), pytest.raises(AssertionError, match="listed as not kept"):
        judge({f"{NAME} 0": {"coverage": "no reason"}}, is_simulated=True)
