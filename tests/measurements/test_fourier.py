"""Fourier coefficients: exhaustive moves, exact values, and the same margins as direct sums."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dalenius.algebra.joint import fourier_components
from dalenius.algebra.margins import Workload, all_margins, closure, reconstruct
from dalenius.core.domain import Axis
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import Unsupported
from dalenius.measurements.fourier import Fourier, coefficient_shift
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

AXES = tuple(Axis(variable=v, labels=("0", "1"), codes=(0, 1)) for v in "abc")


def exact_values(step: Fourier, counts: np.ndarray) -> np.ndarray:
    sealed = []
    for query in step.needs:
        gone = tuple(i for i, a in enumerate(step.axes) if a not in query.space.axes)
        sealed.append(Sealed(counts.sum(axis=gone).ravel().astype(np.int64)))
    outcome = step.run(tuple(sealed), np.zeros(len(step.noise), dtype=np.int64), RecordedRandomness(0))
    assert isinstance(outcome, Value)
    return outcome.values


def test_coefficients_move_as_claimed_for_every_pair_of_records() -> None:
    step = Fourier("f", AXES, (), {m: DiscreteLaplace(Fraction(1)) for m in all_margins(3)})
    records = {c: np.zeros((2, 2, 2), dtype=np.int64) for c in product((0, 1), repeat=3)}
    for c, array in records.items():
        array[c] = 1
    for c, one in records.items():
        values = exact_values(step, one)
        assert np.abs(values).tolist() == [coefficient_shift(m, None) for m in step.noise]
        for d, other in records.items():
            pattern = frozenset(i for i in range(3) if c[i] != d[i])
            moved = np.abs(values - exact_values(step, other)).tolist()
            if pattern:
                assert moved == [coefficient_shift(m, pattern) for m in step.noise]


def test_profile_is_the_worst_sum_of_losses() -> None:
    noise = {m: DiscreteLaplace(Fraction(1, 10 + len(m))) for m in closure([(0, 1), (1, 2)])}
    step = Fourier("f", AXES, (), noise, is_size_public=True)
    assert step.profile(Neighbours()).epsilon == sum(law.rate for law in noise.values())
    swapped = max(
        sum(coefficient_shift(m, frozenset(s)) * law.rate for m, law in noise.items())
        for s in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    )
    assert step.profile(Neighbours(relation=Relation.REPLACE)).epsilon == swapped
    assert step.profile(Neighbours(max_rows=2)).epsilon == 2 * sum(law.rate for law in noise.values())


def test_margins_from_exact_coefficients_are_the_margins() -> None:
    counts = np.arange(8).reshape(2, 2, 2)
    margins = all_margins(3)
    step = Fourier("f", AXES, (), {m: DiscreteLaplace(Fraction(1)) for m in margins})
    law = step.law
    assert isinstance(law, Joint)
    parts = fourier_components(exact_values(step, counts), law.parameters)
    workload = Workload((2, 2, 2), margins)
    for m in margins:
        gone = tuple(i for i in range(3) if i not in m)
        assert reconstruct(workload, parts, m) == pytest.approx(counts.sum(axis=gone))


def test_other_sizes_are_refused() -> None:
    three = Axis(variable="d", labels=("0", "1", "2"), codes=(0, 1, 2))
    with pytest.raises(Unsupported):
        Fourier("f", (three,), (), {(0,): DiscreteLaplace(Fraction(1))})
