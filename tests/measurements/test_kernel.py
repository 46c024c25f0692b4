"""Perturbation tables: the stated delta is the exact one, wrong tables are refused, the sampler follows p(a, b)."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Kernel
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import DocumentError
from dalenius.measurements.kernel import KernelTable, kernel_delta

SPACE = CellSpace((Axis(variable="v", labels=("a", "b"), codes=(0, 1)),))
# P(-1, 0, +1) = 1/4, 1/2, 1/4 around every count: two outcomes of the count's own row prove it.
TRIANGLE = Kernel("triangle", (-1,), ((1, 2, 1),), 4)


def test_delta_of_a_triangle_by_hand() -> None:
    # Against the row one higher: outputs -1, 0, 1 have 1/4, 1/2, 1/4 here and 0, 1/4, 1/2 there.
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        factor = exp(float(epsilon))
        by_hand = 1 / 4 + max(0, 1 / 2 - factor / 4)
        assert float(kernel_delta(TRIANGLE, 1, epsilon)) == pytest.approx(by_hand, abs=1e-12)


def test_two_changed_cells_compose() -> None:
    table = KernelTable("t", TableQuery(space=SPACE), TRIANGLE, Fraction(1))
    profile = table.profile(Neighbours(relation=Relation.REPLACE))
    assert profile.epsilon == 2
    assert profile.delta == 1 - (1 - kernel_delta(TRIANGLE, 1, Fraction(1))) ** 2


def test_a_smaller_move_that_loses_more_is_not_overlooked() -> None:
    """Even counts are shown as themselves, odd ones too: moves by two are harmless in this table, moves by one are not."""
    parity = Kernel("parity", (0, 0, 0, 0), ((9, 0, 1, 0), (0, 9, 0, 1), (9, 0, 1, 0), (0, 9, 0, 1)), 10)
    table = KernelTable("t", TableQuery(space=SPACE), parity, Fraction(1))
    two_rows = Neighbours(max_rows=2, unit="person")
    assert table.profile(two_rows).delta == 1


def test_the_charge_is_that_of_the_rows_outside_the_event_of_failure() -> None:
    """At epsilon 1 one fails with probability 1/4 here; given no failure the rows are (2, 1) / 3 and (1, 2) / 3."""
    table = KernelTable("t", TableQuery(space=SPACE), TRIANGLE, Fraction(1))
    profile = table.profile(Neighbours())
    largest = max(a * log(2 / 3) - a * log(1 / 3) for a in (1.0,)) / 3
    assert float(profile.cost().rho) == pytest.approx(largest, rel=0.01)
    assert profile.cost().rho < profile.stated_concentrated()[0]
    assert float(profile.cost().delta) == pytest.approx(float(profile.delta), abs=1e-15)


def test_a_row_that_is_not_a_distribution_is_refused() -> None:
    with pytest.raises(DocumentError):
        KernelTable("t", TableQuery(space=SPACE), Kernel("bad", (0,), ((1, 2),), 4), Fraction(1))


def test_a_deterministic_kernel_has_delta_one() -> None:
    assert kernel_delta(Kernel("identity", (0,), ((1,),), 1), 1, Fraction(5)) == 1


@pytest.mark.statistical
def test_sampler_follows_the_rows() -> None:
    """Fixed seed; each frequency within 5 standard errors (error rate below 1e-5)."""
    kernel = Kernel("two rows", (0, -1), ((6, 2), (1, 5, 2)), 8)
    table = KernelTable("t", TableQuery(space=SPACE), kernel, Fraction(1))
    rng = RecordedRandomness("kernel")
    draws = 4000
    seen = []
    for _ in range(draws):
        outcome = table.run((Sealed(np.array([0, 3], dtype=np.int64)),), table.draw(rng), rng)
        assert isinstance(outcome, Value)
        seen.append(outcome.values)
    shown = np.array(seen)
    for cell, count in ((0, 0), (1, 3)):
        for b in range(-1, 6):
            p = float(kernel.pmf(count, b))
            assert abs((shown[:, cell] == b).mean() - p) <= 5 * np.sqrt(p * (1 - p) / draws) + 1e-12
