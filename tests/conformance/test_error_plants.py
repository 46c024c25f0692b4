"""The kit of errors is red for each fault that is planted in a method without a test of its own, within five CPU seconds.

The method is a mean whose estimate is written in the planted file; its honest form is green.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

import pytest

from dalenius.algebra.estimates import ESTIMATES
from dalenius.core import registry
from dalenius.testing import error_kit, error_worlds
from dalenius.testing.planting import planted
from dalenius.testing.simulated import QUICK

SECONDS = 5.0
METHOD = '''
"""The mean, planned and estimated in one file."""

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dalenius.algebra.estimates import ESTIMATES
from dalenius.algebra.moments import Form
from dalenius.methods.mean import MeanMethod
from dalenius.plans.moments import constants, plan_estimate, rows_with, squares_part, totals_part

__all__ = ["PlantedMean"]


def scaled(made, noise=1.0, sampling=1.0, is_widened=True):
    """Both variances times a factor, and intervals with them."""

    def ends(confidence, is_sampling):
        factor = np.sqrt(sampling if is_sampling else noise) if is_widened else 1.0
        return tuple(made.values + factor * (end - made.values) for end in made.ends(confidence, is_sampling))

    return replace(made, variance=noise * made.variance, sampled=sampling * made.sampled, ends=ends)


def estimate(parts):
    """As the library estimates a mean, but for what is planted."""
    made = ESTIMATES["mean"](parts)
    total, count, scale = parts.total(), parts.count(), parts.number("scale", 1)
    n = np.where(count.values >= 1, count.values, np.nan)
    FAULT
    return made


ESTIMATES["planted mean"] = estimate


class PlantedMean(MeanMethod):
    """A mean of each cell."""

    name: ClassVar[str] = "planted_mean"
    examples = (
        {
            "table": {"rows": ["sex"], "measure": "planted_mean", "of": "income"},
            "privacy": {"definition": "zero_concentrated", "rho": "1/4"},
        },
    )

    @staticmethod
    def plan(question):
        """Two totals and the squares."""
        bounds, query = question.bounds, rows_with(question)
        question.parameter("error", "sampling")
        parts = (
            totals_part(question, query, None, Fraction(9, 10)),
            squares_part(question, query, question.of, None, Fraction(1, 10)),
        )
        constant = {"scale": bounds.step} | constants(bounds)
        return plan_estimate(question, "planted mean", "mean", parts, constant, LIMITS, measure="mean")

    @staticmethod
    def written(parameters):
        """As it is."""
        return "planted_mean", dict(parameters)
'''
BOUNDS = "(bounds.lower, bounds.upper)"
WRONG_PARTIAL = """
    mean = total.values / n
    right = total.times(1 / n).plus(count, -mean / n)
    one = np.ones((len(right.weights), 1))
    one[parts.places["ARRAY"]] = 1.1
    wrong = Form(right.measured, right.weights * one, right.shift)
    more = scale**2 * (wrong.variance - right.variance)
    made = scaled(made, 1 + more / made.variance, 1 + more / made.sampled)
"""
FAULTS = {
    "a halved standard error": ("made = scaled(made, 0.25, 0.25)", BOUNDS, "coverage"),
    "a halved standard error of noise": ("made = scaled(made, 0.25, 1.0)", BOUNDS, "coverage"),
    "a halved standard error with sampling": ("made = scaled(made, 1.0, 0.25)", BOUNDS, "coverage"),
    "a partial derivative that is 10 % too large": (WRONG_PARTIAL.replace("ARRAY", "above"), BOUNDS, "gradient"),
    "the other partial derivative": (WRONG_PARTIAL.replace("ARRAY", "below"), BOUNDS, "gradient"),
    "a forgotten sampling term": (
        "own = made\n    made = replace(made, sampled=own.variance, ends=lambda level, _: own.ends(level, False))",
        BOUNDS,
        "coverage",
    ),
    "a variance 1.3 times too large": ("made = scaled(made, 1.3, 1.3)", BOUNDS, "variance"),
    "a variance of noise 1.3 times too large": ("made = scaled(made, 1.3, 1.0, is_widened=False)", BOUNDS, "gradient"),
    "a variance with sampling 1.3 times too large": (
        "made = scaled(made, 1.0, 1.3, is_widened=False)",
        BOUNDS,
        "variance",
    ),
    "limits that are ignored": ("", '("-inf", "inf")', "limits"),
    "a scale that leaves the range of the number": (
        "own, low = made, parts.number('low') * scale\n"
        "    made = replace(made, ends=lambda level, is_sampling: tuple(\n"
        "        (own.values - low) ** 2 / (2 * own.values - low - end) + low for end in own.ends(level, is_sampling)))",
        BOUNDS,
        "degenerate",
    ),
}


@contextmanager
def planted_mean(fault: str, limits: str) -> Iterator[None]:
    """The method with a fault."""
    text = METHOD.replace("FAULT", fault.strip() or "pass").replace("LIMITS", limits)
    with planted("methods", "planted_mean", text):
        try:
            yield
        finally:
            ESTIMATES.pop("planted mean", None)


@pytest.fixture(scope="module", autouse=True)
def files() -> None:
    """Files that all judgements share are made once."""
    for world in error_worlds.WORLDS:
        error_worlds.sampled(world)
        error_worlds.expected(world)
    error_worlds.degenerate(QUICK.cells)


def test_the_honest_method_is_green() -> None:
    with planted_mean("", BOUNDS):
        assert error_kit.check(registry.get("methods", "planted_mean"), {}) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_the_kit_of_errors_catches(fault: str) -> None:
    text, limits, judgement = FAULTS[fault]
    with planted_mean(text, limits):
        method, started = registry.get("methods", "planted_mean"), process_time()
        with pytest.raises(AssertionError, match=f"[:;] {judgement} in "):
            error_kit.check(method, {})
        assert process_time() - started < SECONDS


def test_a_listed_judgement_that_is_kept_is_an_error() -> None:
    with planted_mean("", BOUNDS), pytest.raises(AssertionError, match="listed as not kept"):
        error_kit.check(registry.get("methods", "planted_mean"), {"planted_mean 0": {"coverage": "no reason"}})
