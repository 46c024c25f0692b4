"""The quotient of two sums, known without noise."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest
from tests.inference.questions.conftest import TABLE
from verify._recorded import release_of

from dalenius.core.domain import Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.release import Release
from dalenius.inference import ratio, total
from dalenius.testing.asking import plan_of


def test_the_quotient_of_two_sums(ask, counts) -> None:
    found = ask("ratio", counts, first={"A": ("a0",)}, second={"A": ("a1",)})
    assert found.value == pytest.approx(TABLE[0].sum() / TABLE[1].sum())
    assert found.interval.lower <= found.value <= found.interval.upper


def released(counts: np.ndarray, seed: int) -> Release:
    """A list of margins under pure privacy, of which no shown cell is a single draw; the table of both axes comes last."""
    labels = {"a": ("x", "y", "z"), "b": ("f", "m")}
    variables = {
        name: Variable(name=name, domain=Categories(labels=own, missing=own[0], unseen=own[0]))
        for name, own in labels.items()
    }
    domain = Domain(name="q", population="q", version="1", variables=variables, neighbours=Neighbours(), is_public=True)
    request = {
        "table": {"rows": ["a", "b"], "margins": [["a"], ["b"], ["a", "b"]]},
        "privacy": {"definition": "pure", "epsilon": "0.5", "strategy": "equal"},
    }
    rows = [
        (a, b) for a, line in zip("xyz", counts, strict=True) for b, n in zip("fm", line, strict=True) for _ in range(n)
    ]
    columns = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    return release_of(plan_of(domain, request), domain, columns, request, f"ratio {seed}")


def test_the_noise_of_a_joint_law_under_pure_privacy_is_not_taken_for_normal() -> None:
    """Three in four thousand normal draws are as far away as a Laplace draw in a hundred."""
    release = released(np.full((3, 2), 40), 0)
    cell = {"a": "x", "b": "f"}
    one = total(release, cell, confidence=0.99)
    assert one.interval is not None and one.interval.upper - one.value == pytest.approx(
        one.std_error * log(100) / sqrt(2)
    )
    quotient = ratio(release, cell, {"a": "y", "b": "m"}, confidence=0.99)
    assert quotient.interval is not None and "Laplace" in quotient.interval.method


def test_ratios_of_few_records_hold_their_level_under_pure_privacy() -> None:
    """400 populations of 24 records on average at epsilon 1/2, 95 %: a binomial test at .0005 does not reject."""
    draws, inside = np.random.default_rng(8), 0
    for number in range(400):
        counts = draws.poisson(4, (3, 2))
        found = ratio(released(counts, number), {"b": "f"}, {"b": "m"}).interval
        above, below = counts.sum(axis=0)
        inside += found is not None and found.lower <= (above / below if below else np.inf) <= found.upper
    assert binomtest(inside, 400, 0.95, alternative="less").pvalue > 0.0005
