"""Residual measurements: exhaustive output laws on tiny shapes, and the empirical covariance over 20,000 runs."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from dalenius.algebra.margins import Workload, reconstruct
from dalenius.algebra.moves import ALONE, Part, grid_variances, shift_length
from dalenius.algebra.optimal import select
from dalenius.algebra.tree_law import residual_parts
from dalenius.core.domain import Axis
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.measurements._components import differences
from dalenius.measurements.residual import Residual
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian

ADD, SWAP = Neighbours(), Neighbours(relation=Relation.REPLACE)


def axes_of(shape: tuple[int, ...]) -> tuple[Axis, ...]:
    return tuple(
        Axis(variable="xyz"[i], labels=tuple(map(str, range(n))), codes=tuple(range(n))) for i, n in enumerate(shape)
    )


def planned(workload: Workload, cost: Fraction) -> dict[Part, Fraction]:
    proposed = {(0, a): Fraction(v) * workload.size(a) ** 2 for a, v in select(workload, float(cost)).items()}
    return grid_variances(workload.shape, proposed, cost, (ALONE,))


def measure(step: Residual, counts: np.ndarray, seed: str) -> np.ndarray:
    rng = RecordedRandomness(seed)
    sealed = []
    for query in step.needs:
        gone = tuple(i for i, a in enumerate(step.detail) if a not in query.space.axes)
        sealed.append(Sealed(counts.sum(axis=gone).ravel().astype(np.int64)))
    outcome = step.run(tuple(sealed), step.draw(rng), rng)
    assert isinstance(outcome, Value)
    return outcome.values


def output_law(shape: tuple[int, ...], variance: Fraction, reach: int) -> np.ndarray:
    """Law of the released differences: two of them for three categories, one contrast for (2,) and (2, 2)."""
    p = np.exp(DiscreteGaussian(variance).log_pmf(np.arange(-reach, reach + 1)))
    if shape == (3,):
        wide = np.pad(p, 2 * reach)
        law = np.zeros((4 * reach + 1, 4 * reach + 1))
        for i, mass in enumerate(p):
            window = wide[i : i + 4 * reach + 1]
            law += mass * np.outer(window, window)
        return law
    law = p
    for _ in range(int(np.prod(shape)) - 1):
        law = np.convolve(law, p)
    return law


def renyi(law: np.ndarray, shift: tuple[int, ...], order: float) -> float:
    """Renyi divergence of a law on a grid from the same law moved by an integer vector."""
    here = tuple(slice(max(s, 0), n + min(s, 0)) for s, n in zip(shift, law.shape, strict=True))
    there = tuple(slice(max(-s, 0), n + min(-s, 0)) for s, n in zip(shift, law.shape, strict=True))
    a, b = law[here], law[there]
    kept = (a > 1e-280) & (b > 1e-280)
    terms = order * np.log(a[kept]) + (1 - order) * np.log(b[kept])
    # The far tails, where the enumeration was cut, carry no weight.
    return float(np.log(np.exp(terms[terms > -60]).sum()) / (order - 1))


@pytest.mark.parametrize(("shape", "sigma2"), [((2,), "1"), ((3,), "1"), ((2, 2), "3/2")])
@pytest.mark.parametrize("is_replace", [False, True])
def test_exact_output_law_stays_within_the_claimed_rho(shape: tuple[int, ...], sigma2: str, is_replace: bool) -> None:
    """Enumerate the law of the released differences for all pairs of records; compare Renyi divergences with rho."""
    margin = tuple(range(len(shape)))
    size = int(np.prod(shape))
    variance = Fraction(sigma2) * size**2
    step = Residual("r", axes_of(shape), (), {(0, margin): variance}, is_size_public=is_replace)
    rho = float(step.profile(SWAP if is_replace else ADD).rho or 0)
    law = output_law(shape, variance, int(16 * float(variance) ** 0.5))
    cells = list(product(*(range(n) for n in shape)))
    worst = 0.0
    for c, d in product(cells, cells):
        moved = np.zeros(shape, dtype=np.int64)
        moved[c] += size
        moved[d] -= size if is_replace else 0
        reduced = differences(moved).ravel()
        shift = tuple(int(s) for s in (reduced[1:] if shape == (3,) else reduced[-1:]))
        if any(shift):
            worst = max(worst, *(renyi(law, shift, order) / order for order in (1.5, 2.0, 4.0)))
    assert worst <= rho * (1 + 1e-6)
    assert worst >= rho * 0.9


def test_wrong_shift_lengths_would_be_noticed() -> None:
    """The test above has teeth: a claim without the scale of the grid is far below the truth."""
    assert shift_length((3,), (0,), None) == 6
    assert shift_length((2, 2), (0, 1), None) == 4


def test_the_uncentred_array_is_not_in_the_output() -> None:
    """Adding a constant along an axis to the noise leaves the output unchanged."""
    rng = np.random.default_rng(0)
    array = rng.integers(-9, 9, (3, 4))
    along = array + rng.integers(-9, 9, (1, 4)) + rng.integers(-9, 9, (3, 1))
    assert (differences(array) == differences(along)).all()


def test_empirical_covariance_over_20000_runs() -> None:
    """Statistical: 4 standard errors on every entry; a wrong variance of 6 % would fail."""
    shape, runs = (3, 2), 20_000
    workload = Workload(shape, ((0, 1), (0,), ()))
    cost = Fraction(1)
    grid = planned(workload, cost)
    step = Residual("r", axes_of(shape), (), grid)
    counts = np.array([[5, 0], [100, 3], [7, 1]])
    law = step.law
    assert isinstance(law, Joint)

    def shown(measured: np.ndarray) -> np.ndarray:
        parts = {a: part[0] for (_, a), part in residual_parts(measured, law.parameters).items()}
        return np.concatenate([reconstruct(workload, parts, m).ravel() for m in workload.margins])

    measured = np.array([measure(step, counts, f"run {run}") for run in range(runs)])
    # What is shown is linear in what is measured, so that one matrix shows all runs.
    values = measured @ np.array([shown(unit) for unit in np.eye(measured.shape[1], dtype=np.int64)])
    assert np.allclose(values[:50], [shown(row) for row in measured[:50]])
    truth = np.concatenate([counts.ravel(), counts.sum(axis=1), [counts.sum()]])
    components = {a: float(v) / workload.size(a) ** 2 for (_, a), v in grid.items()}
    expected = np.zeros((10, 10))
    start = {(0, 1): 0, (0,): 6, (): 9}
    for first in workload.margins:
        for second in workload.margins:
            cells, others = (range(prod(shape[a] for a in margin)) for margin in (first, second))
            block = workload.covariance(components, first, cells, second, others)
            expected[start[first] : start[first] + len(cells), start[second] : start[second] + len(others)] = block
    deviation = np.sqrt(np.diag(expected))
    assert np.abs(values.mean(axis=0) - truth).max() < 4 * (deviation / runs**0.5).max()
    empirical = np.cov(values.T)
    spread = np.sqrt((np.outer(deviation, deviation) ** 2 + expected**2) / runs)
    assert (np.abs(empirical - expected) < 4.5 * spread).all()


def test_profile_matches_the_planned_cost_and_scales_with_rows() -> None:
    workload = Workload((3, 4, 2), ((0, 1), (1, 2), (0,), (0, 1, 2)))
    grid = planned(workload, Fraction(1))
    step = Residual("r", axes_of((3, 4, 2)), (), grid)
    rho = step.profile(ADD).rho
    assert rho is not None and Fraction(4999, 10000) < rho <= Fraction(1, 2)
    assert step.profile(Neighbours(max_rows=3)).rho == 9 * rho
    swapped = step.profile(SWAP).rho
    assert swapped is not None and swapped > rho
    # A unit may also enter or leave when nothing says that the size is public.
    assert swapped >= Residual("r", axes_of((3, 4, 2)), (), grid, is_size_public=True).profile(SWAP).rho  # type: ignore[operator]


def test_nothing_is_released_but_differences_from_the_reference_cell() -> None:
    step = Residual("r", axes_of((3, 2)), (), {(0, (0,)): Fraction(9), (0, (0, 1)): Fraction(9)})
    values = measure(step, np.arange(6).reshape(3, 2), "reference")
    rows, cells = values[:3], values[3:].reshape(3, 2)
    assert rows[0] == 0 and not cells[0].any() and not cells[:, 0].any()
    assert rows[1:].any() and cells[1:, 1].any()
