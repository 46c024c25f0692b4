"""Imported perturbation tables: exact deltas, planted wrong tables, the format of ptable and cellKey."""

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
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DocumentError, NotAllowed
from dalenius.exact import perturbation
from dalenius.measurements.perturbation_table import PerturbationTable
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

ONE = Sensitivity.of_patterns(((1,),))
SWAP = Sensitivity.of_patterns(((1, 1),))


def query(cells: int = 4) -> TableQuery:
    axis = Axis(variable="x", labels=tuple(map(str, range(cells))), codes=tuple(range(cells)))
    return TableQuery(space=CellSpace((axis,)))


def test_truncated_laplace_as_a_table_has_its_known_delta() -> None:
    kernel = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 10), 25)
    assert float(perturbation.table_delta(kernel, ONE, Fraction(1))) == pytest.approx(2.098060e-5, rel=1e-5)
    loss = perturbation.loss_of(kernel, 1)
    assert float(loss.largest_finite) == pytest.approx(1, abs=1e-9)
    # Two cells share epsilon 2: (2, delta (2 - delta)) exactly.
    swapped = perturbation.table_delta(kernel, SWAP, Fraction(2))
    assert float(swapped) == pytest.approx(4.196076e-5, rel=1e-5)


def test_clamping_at_zero_loses_nothing() -> None:
    free = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 6), 15)
    clamped = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 6), 15, floor=0)
    for at in ("0", "0.5", "1"):
        a = perturbation.table_delta(clamped, ONE, Fraction(at))
        assert a <= perturbation.table_delta(free, ONE, Fraction(at)) + Fraction(1, 10**12)


def test_hockey_stick_equals_brute_force() -> None:
    rng = np.random.default_rng(9)
    rows = {a: dict(enumerate(map(Fraction, rng.dirichlet(np.ones(5)).tolist()))) for a in range(4)}
    kernel = perturbation.kernel_from_rows("random", rows)
    for size in (1, 2):
        for at in (0.0, 0.3, 1.0):
            worst = 0.0
            for a in range(4):
                for s in range(1, size + 1):
                    p = {b: float(kernel.pmf(a, b)) for b in range(12)}
                    q = {b: float(kernel.pmf(a + s, b)) for b in range(12)}
                    for one, other in ((p, q), (q, p)):
                        worst = max(worst, sum(max(0, one[b] - exp(at) * other[b]) for b in one))
            ours = perturbation.hockey_stick(kernel, size, Fraction(at))
            assert float(ours) == pytest.approx(worst, abs=1e-12)


def test_text_round_trip_keeps_every_probability() -> None:
    kernel = perturbation.kernel_of(TruncatedLaplace(Fraction(1, 2), 4), 6)
    text = perturbation.to_text(kernel)
    assert text.splitlines()[0] == "i,j,p,v,p_int_lb,p_int_ub,type"
    back = perturbation.from_text(text.replace(",", ";"))
    for a in range(9):
        assert back.pmf(a, np.arange(-5, 20)) == pytest.approx(kernel.pmf(a, np.arange(-5, 20)), abs=1e-15)
    assert "0.2" in perturbation.show(kernel)


def test_classical_tables_are_refused_with_the_reason() -> None:
    kernel = perturbation.max_entropy_kernel(3, 1.5)
    assert kernel.pmf(0, 0) == pytest.approx(1)
    with pytest.raises(NotAllowed, match="a value that a count of 0 never shows"):
        perturbation.judge(kernel, ONE, Fraction(2), Fraction(1, 1000))
    row = {b: float(kernel.pmf(5, b)) for b in range(2, 9)}
    assert sum(p * (b - 5) for b, p in row.items()) == pytest.approx(0, abs=1e-9)
    assert sum(p * (b - 5) ** 2 for b, p in row.items()) == pytest.approx(1.5, abs=1e-6)


def test_planted_wrong_tables_are_refused() -> None:
    good = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 14), 20)
    assert perturbation.judge(good, ONE, Fraction(1), Fraction(1, 10**6)) <= Fraction(1, 10**6)
    spiked = {
        a: {b: Fraction(w, good.scale) for b, w in enumerate(r, f)}
        for a, (f, r) in enumerate(zip(good.firsts, good.rows, strict=True))
    }
    spiked[3][3] += Fraction(1, 10)
    spiked[3] = {b: p / Fraction(11, 10) for b, p in spiked[3].items()}
    with pytest.raises(NotAllowed, match="not"):
        perturbation.judge(perturbation.kernel_from_rows("spiked", spiked), ONE, Fraction(1), Fraction(1, 10**6))
    with pytest.raises(NotAllowed):
        perturbation.judge(good, ONE, Fraction(9, 10), Fraction(1, 10**6))


@pytest.mark.parametrize(
    "text",
    ["", "a,b\n1,2", "i,j,p\n0,0,1\n2,2,1", "i,j,p\n0,0,0.5\n0,1,0.4", "i,j,p\n0,0,1\n0,0,1", "i,j,p\n0,x,1", "i,j,p\n0,0,1.2\n0,1,-0.2"],
)  # fmt: skip
def test_unreadable_tables_are_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        perturbation.from_text(text)


def test_measurement_prices_runs_and_refuses() -> None:
    kernel = perturbation.kernel_of(DiscreteLaplace(Fraction(1)), 12)
    neighbours = Neighbours()
    step = PerturbationTable("t", query(), kernel, Fraction(1), Fraction(1, 10**6), neighbours)
    profile = step.profile(neighbours)
    assert profile.epsilon == 1
    assert profile.delta < Fraction(1, 10**6)
    assert profile.delta_at(Fraction(1, 2)) > profile.delta
    with pytest.raises(NotAllowed):
        PerturbationTable("t", query(), kernel, Fraction(1), Fraction(1, 10**6), Neighbours(relation=Relation.REPLACE))
    rng = RecordedRandomness("table")
    outcome = step.run((Sealed(np.array([0, 5, 12, 400])),), step.draw(rng), rng)
    assert isinstance(outcome, Value)
    assert np.abs(outcome.values - [0, 5, 12, 400]).max() < 40
    block = step.block(outcome)
    assert block is not None and block.law is kernel


def test_shown_values_follow_the_rows() -> None:
    """Statistical: chi-square on the row of count 3, p = 0.0005."""
    kernel = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 3), 8)
    step = PerturbationTable("t", query(20_000), kernel, Fraction(1), Fraction(1, 10), Neighbours())
    rng = RecordedRandomness("rows")
    outcome = step.run((Sealed(np.full(20_000, 3)),), step.draw(rng), rng)
    assert isinstance(outcome, Value)
    counts = np.bincount(outcome.values, minlength=7)
    expected = 20_000 * kernel.pmf(3, np.arange(7))
    assert ((counts - expected) ** 2 / expected).sum() < 24.1


def test_a_table_is_charged_for_what_its_rows_lose_and_not_for_what_epsilon_implies() -> None:
    from dalenius.mechanisms.truncated_normal import TruncatedNormal

    kernel = perturbation.kernel_of(TruncatedNormal.of_paper("1.5", 12), 30)
    table = PerturbationTable(
        "t", query(), kernel, Fraction("1.5"), Fraction(1, 10**4), Neighbours(relation=Relation.ADD_REMOVE)
    )
    cost = table.profile(Neighbours(relation=Relation.ADD_REMOVE)).cost()
    assert 0.06 <= float(cost.rho) <= 0.067
    assert float(cost.delta) == pytest.approx(2.44457e-5, rel=1e-5)
    replaced = table.profile(Neighbours(relation=Relation.REPLACE))
    assert replaced.stated_concentrated()[0] > 8 * replaced.cost().rho
    assert float(replaced.cost().rho) == pytest.approx(2 * float(cost.rho), rel=0.05)


def test_a_table_of_few_values_is_charged_no_more_than_before() -> None:
    rng = np.random.default_rng(4)
    rows = {a: dict(enumerate(map(Fraction, rng.dirichlet(np.ones(5)).tolist()))) for a in range(4)}
    kernel = perturbation.kernel_from_rows("random", rows)
    neighbours = Neighbours(relation=Relation.ADD_REMOVE)
    table = PerturbationTable("t", query(), kernel, Fraction(2), Fraction(99, 100), neighbours)
    profile = table.profile(neighbours)
    assert profile.cost().rho <= profile.stated_concentrated()[0]


# P(-1, 0, +1) = 1/4, 1/2, 1/4 around every count: two outcomes of the count's own row prove it.
TRIANGLE = Kernel("triangle", (-1,), ((1, 2, 1),), 4)


def test_delta_of_a_triangle_by_hand() -> None:
    # Against the row one higher: outputs -1, 0, 1 have 1/4, 1/2, 1/4 here and 0, 1/4, 1/2 there.
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        by_hand = 1 / 4 + max(0, 1 / 2 - exp(float(epsilon)) / 4)
        assert float(perturbation.hockey_stick(TRIANGLE, 1, epsilon)) == pytest.approx(by_hand, abs=1e-12)


def test_a_smaller_move_that_loses_more_is_not_overlooked() -> None:
    """Even counts are shown as themselves, odd ones too: moves by two are harmless in this table, moves by one are not."""
    parity = Kernel("parity", (0, 0, 0, 0), ((9, 0, 1, 0), (0, 9, 0, 1), (9, 0, 1, 0), (0, 9, 0, 1)), 10)
    assert perturbation.table_delta(parity, Sensitivity.of_patterns(((2,),)), Fraction(2)) == 1


def test_the_charge_is_that_of_the_rows_outside_the_event_of_failure() -> None:
    """At epsilon 1 one fails with probability 1/4 here; given no failure the rows are (2, 1) / 3 and (1, 2) / 3."""
    table = PerturbationTable("t", query(2), TRIANGLE, Fraction(1), Fraction(1), Neighbours())
    profile = table.profile(Neighbours())
    assert float(profile.cost().rho) == pytest.approx(log(2) / 3, rel=0.01)
    assert profile.cost().rho < profile.stated_concentrated()[0]
    assert float(profile.cost().delta) == pytest.approx(float(profile.delta), abs=1e-15)


def test_a_deterministic_table_has_delta_one() -> None:
    assert perturbation.hockey_stick(Kernel("identity", (0,), ((1,),), 1), 1, Fraction(5)) == 1


def test_numbers_below_any_common_denominator_are_uniform() -> None:
    """Words at the end that do not divide evenly are drawn again: thirds would be uneven, if ever so little."""
    kernel = Kernel("thirds", (0,), ((1, 1, 1),), 3)
    step = PerturbationTable("p", query(3000), kernel, Fraction(1), Fraction(1), Neighbours())
    counts = np.bincount(step.draw(RecordedRandomness("thirds")), minlength=3)
    assert counts.sum() == 3000 and (abs(counts - 1000) < 130).all()

    class Ends(RecordedRandomness):
        """First the largest words of all, which no third of all words holds."""

        is_begun = False

        def bytes(self, count: int) -> bytes:
            if self.is_begun:
                return super().bytes(count)
            self.is_begun = True
            return b"\xff" * count

    assert len(step.draw(Ends(1))) == 3000
