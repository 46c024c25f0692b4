"""Counts that combine draws of few values: intervals hold by the exact law, by enumeration."""

from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.algebra.lattice import half_widths
from dalenius.algebra.tabulation import bounds
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive
from dalenius.core.release import Block, Table
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

NORMAL = NormalDist().inv_cdf(0.975)
SMALL = [DiscreteGaussian(Fraction(v)) for v in ("1/20", "1/10", "3/20", "1/4", "1/2", "1", "4")]
NOISES = [*SMALL, DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(4))]


def space(name: str, size: int) -> CellSpace:
    return CellSpace((Axis(variable=name, labels=tuple(map(str, range(size))), codes=tuple(range(size))),))


def block(name: str, size: int, law: Additive) -> Block:
    return Block(name=name, space=space(name, size), values=np.zeros(size, dtype=np.int64), law=law)


def table(name: str, size: int, variance: float) -> Table:
    return Table(name=name, space=space(name, size), values=np.zeros(size), variance=np.full(size, variance))


def half(blocks: list[Block], shown: Table, *, is_sum: bool = True) -> float:
    usual = NORMAL * shown.std_error
    (found,) = set(half_widths(blocks, shown, 0.95, usual, is_sum=is_sum).tolist())
    return float(found)


def missed(law: Additive, weights: list[float], half_width: float) -> float:
    """The exact probability that so weighted draws add up to more than a half-width, on either side."""
    chances = {0.0: 1.0}
    points, mass = (each.tolist() for each in law.central(1e-12))
    for weight in weights:
        fresh: dict[float, float] = {}
        for (sum_before, p), (k, q) in product(chances.items(), zip(points, mass, strict=True)):
            value = round(sum_before + weight * k, 9)
            fresh[value] = fresh.get(value, 0.0) + p * q
        chances = fresh
    return sum(p for value, p in chances.items() if abs(value) > half_width + 1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: f"{n.name} {n.variance:.3f}")
@pytest.mark.parametrize("terms", [1, 2, 5, 12])
def test_sums_of_cells_of_one_table_have_the_exact_half_width(noise: Any, terms: int) -> None:
    law = Additive(noise)
    found = half([block("fine", 60, law)], table("coarse", 60 // terms, terms * law.variance))
    assert missed(law, [1.0] * terms, found) <= 0.05 + 1e-9
    assert found == 0 or missed(law, [1.0] * terms, found - 1) > 0.05


def test_the_normal_law_would_miss_a_fifth_of_them() -> None:
    law = Additive(DiscreteGaussian(Fraction(1, 4)))
    assert missed(law, [1.0], NORMAL * law.std_error) > 0.2


@pytest.mark.parametrize("noise", SMALL, ids=lambda n: f"{n.variance:.3f}")
@pytest.mark.parametrize("others", [1, 2, 3])
def test_least_squares_of_several_tables_holds_nearly(noise: Any, others: int) -> None:
    """A total measured once, and once more as the sum of other cells: at most 3.5 % are missed in a tail."""
    law = Additive(noise)
    # Precisions 1 and 1 / others: the total's own draw keeps so much.
    share = others / (1 + others)
    weights = [share, *[1 - share] * others]
    variance = sum(w**2 for w in weights) * law.variance
    blocks = [block("total", 1, law), block("parts", others, law)]
    assert missed(law, weights, half(blocks, table("total", 1, variance))) <= 0.07


@pytest.mark.parametrize("noise", SMALL, ids=lambda n: f"{n.variance:.3f}")
@pytest.mark.parametrize(("cells", "shown"), [(2, 1), (4, 1), (8, 4)])
def test_cells_of_a_public_total_hold_nearly(noise: Any, cells: int, shown: int) -> None:
    """Each draw less the mean of all of them: not a sum of some draws, whatever its variance."""
    law = Additive(noise)
    inside = 1 - shown / cells
    weights = [inside] * shown + [-shown / cells] * (cells - shown)
    variance = sum(w**2 for w in weights) * law.variance
    blocks = [block("fine", cells, law)]
    assert missed(law, weights, half(blocks, table("coarse", 1, variance), is_sum=False)) <= 0.07


def test_wide_noise_and_other_tables_keep_their_half_widths() -> None:
    wide = Additive(DiscreteGaussian(Fraction(100)))
    shown = table("coarse", 2, 200.0)
    assert half([block("fine", 4, wide)], shown) == NORMAL * float(shown.std_error[0])
    narrow = Additive(DiscreteGaussian(Fraction(1)))
    other = table("other", 2, 2.0)
    assert half([block("fine", 4, narrow), block("more", 4, narrow)], other) == NORMAL * float(other.std_error[0])
    usual = other.std_error
    assert half_widths([], other, 0.95, usual, is_sum=True) is usual


@pytest.mark.parametrize(
    "measure", [{}, {"measure": "proportion", "of": "pay", "among": {"at_least": 5}}], ids=["counts", "shares"]
)
def test_counts_of_a_list_whose_noise_is_below_one_step_hold(measure: dict[str, Any]) -> None:
    """Before, 9 to 10 % were missed in each tail: whole numbers were given ends by the normal law."""
    categories = {"missing": "a", "unseen": "a"}
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "variables": {
                "town": {"categories": ["a", "b", "c"], **categories},
                "sex": {"categories": ["a", "b"], **categories},
                "pay": {"bounds": [0, 10], "step": 1, "missing": "0"},
            },
        }
    ).domain()
    asked = {"rows": ["town", "sex"], "margins": [["town", "sex"], ["town"], []], **measure}
    plan = plan_of(domain, {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": 4}})
    assert plan.strategy == "interior"
    release = release_of(plan, domain, {"town": ["a", "b"] * 50, "sex": ["a"] * 100, "pay": [5] * 100}, asked, "few")
    law = release.blocks[0].law
    assert isinstance(law, Additive) and law.noise.variance < 0.1
    for shown in (each for each in release.tables if each.measure == "count"):
        lower, upper = bounds(release, shown)
        terms = round(float(shown.variance[0]) / law.variance)
        assert missed(law, [1.0] * terms, float(upper[0] - shown.values[0])) <= 0.05 + 1e-9
        assert (lower[0], upper[0]) == (max(2 * shown.values[0] - upper[0], 0), upper[0])
