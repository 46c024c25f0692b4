"""The kit that judges estimators by themselves, from exact sums of few rows: what no simulation sees.

gradient  derivatives of the number and of its guards against differences
degree    the number at twice all sums
centre    the number of the same rows about other centres: a sum that is read about the wrong one moves it
units     the number of the same rows in steps of a third
sampling  the stated variance of sampling against the sum over rows of the square of what each moves the number by
limits    numbers of rows at the ends of their bounds are possible
guard     where a sum is as near to a pole of the number as its noise is wide, at most 6 % are missed to one side

A cell holds so many copies of its rows that factors like n / (n - 1) are one.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimator import ROWS, Estimator, Quotient
from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import Sums
from dalenius.core.domain import Bounds
from dalenius.core.law import FloatArray
from dalenius.testing.exact_sums import ENDS, exact_sums, example_rows, with_values

COPIES = 1e7
OTHER_CENTRES = {"x": 11, "y": 33}
NEAR = 1e-4
MISSED, DRAWS = 0.06, 4000


def check(estimator: Estimator) -> None:
    """Raise `AssertionError` with all that is wrong."""
    with np.errstate(all="ignore"):
        wrong = [f"{name} of {detail}" for name, detail in findings(estimator)]
    assert not wrong, f"{estimator.name}: " + "; ".join(wrong)


def findings(estimator: Estimator) -> Iterator[tuple[str, str]]:
    """Every judgement that is not kept, and how."""
    rows = example_rows()
    sums = exact_sums(estimator, rows, copies=COPIES)
    number = _number(estimator, sums)
    yield from _gradients(estimator, sums)
    doubled = _number(estimator, exact_sums(estimator, rows, copies=2 * COPIES))
    yield from _compared("degree", "twice the sums", doubled, 2**estimator.degree * number)
    moved = _number(estimator, exact_sums(estimator, rows, copies=COPIES, centres=OTHER_CENTRES))
    yield from _compared("centre", "the same rows about other centres", moved, number)
    thirds = _number(estimator, exact_sums(estimator, rows, copies=COPIES, steps=3))
    unit = np.prod([3.0**power for power in estimator.units.values()])
    # Classes of equal width are not quite the same ones in other steps.
    near = 0.02 if any(need.classes for need in estimator.reads) else NEAR
    yield from _compared("units", "steps of a third", thirds, unit * number, near)
    yield from _sampling(estimator, sums)
    yield from _limits(estimator)
    yield from _guards(estimator, sums)


def _duals(estimator: Estimator, sums: Sums) -> list[Dual]:
    """What the number is made of, and its guards."""
    value = estimator.value(sums)
    return [*((value.top, value.bottom) if isinstance(value, Quotient) else (value,)), *estimator.guards(sums)]


def _number(estimator: Estimator, sums: Sums) -> FloatArray:
    """The shown number in steps, before a root is taken."""
    value = estimator.value(sums)
    number = value.top.values / value.bottom.values if isinstance(value, Quotient) else value.values
    return np.asarray(number + (sums.centre("x") if estimator.is_location else 0.0))


def _compared(
    judgement: str, what: str, made: FloatArray, expected: FloatArray, near: float = NEAR
) -> Iterator[tuple[str, str]]:
    distance = np.abs(made - expected)
    if not np.all(distance <= near * np.abs(expected).max()):
        cell = int(np.nan_to_num(distance, nan=np.inf).argmax())
        yield judgement, f"{what}: {made.flat[cell]:.6g}, not {expected.flat[cell]:.6g}"


def _gradients(estimator: Estimator, sums: Sums) -> Iterator[tuple[str, str]]:
    for number, dual in enumerate(_duals(estimator, sums)):
        for place, name in enumerate(sums.law.sums):
            own = sums.measured.values[place]
            step = NEAR * np.abs(own).max()
            up, down = (
                _duals(estimator, with_values(sums, place, own + side))[number].values for side in (step, -step)
            )
            stated, slope = dual.gradient[place] * np.abs(own).max(), (up - down) / (2 * NEAR)
            # What is small beside the number itself is nothing.
            if np.abs(stated - slope).max() > NEAR * np.abs(dual.values).max():
                yield from _compared("gradient", f"the part by {name!r}", stated, slope)


def _sampling(estimator: Estimator, sums: Sums) -> Iterator[tuple[str, str]]:
    value = estimator.value(sums)
    if estimator.spread is None or isinstance(value, Quotient):
        return
    made, squares = estimator.spread(sums, value), sums.squares(value)
    if made is not None and squares is not None:
        yield from _compared("sampling", "a row's squared share in the number", made[0], squares.values, 0.01)


def _limits(estimator: Estimator) -> Iterator[tuple[str, str]]:
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    shares = np.random.default_rng(7).dirichlet([0.3] * 4, 200)
    chosen = np.stack([np.repeat(corners, np.rint(60 * share).astype(int) + 1, axis=0)[:60] for share in shares])
    rows = {role: np.take(ENDS[role], chosen[:, :, k]).astype(float) for k, role in enumerate("xy")}
    sums = exact_sums(estimator, rows)
    made = estimate(
        estimator, Sums(replace(sums.law, offset=Fraction(sums.centre("x")) * estimator.is_location), sums.measured)
    )
    ends = {role: Bounds(lower=Fraction(low), upper=Fraction(high)) for role, (low, high) in ENDS.items()}
    low, high = (float(end) for end in estimator.limits(ends))
    outside = made.values[(made.values < low - 1e-9) | (made.values > high + 1e-9)]
    if len(outside):
        yield "limits", f"{low:.4g} … {high:.4g}: rows at the ends of their bounds have {outside[0]:.6g}"


def _guards(estimator: Estimator, sums: Sums) -> Iterator[tuple[str, str]]:
    normal = np.random.default_rng(3).standard_normal(DRAWS)
    for place, name in enumerate(sums.law.sums):
        own = sums.measured.values[place, 0]
        pole = None if name == ROWS else _pole(estimator, sums, place)
        if pole is None:
            continue
        truth, deviation = _number(estimator, sums)[0], abs(pole - own)
        noisy = with_values(sums, place, own + deviation * normal, deviation)
        lower, upper = estimate(replace(estimator, is_root=False), noisy).ends(0.95, False)
        truth -= sums.centre("x") if estimator.is_location else 0.0
        missed = max(float(np.mean(truth < lower)), float(np.mean(truth > upper)))
        if missed > MISSED:
            yield "guard", f"{name!r}, as near to where the number has a pole as its noise is wide: {missed:.1%} missed"


def _pole(estimator: Estimator, sums: Sums, place: int) -> float | None:
    """The value of a sum of the first cell, nearest to its own, at which the number grows without end."""
    own, size = sums.measured.values[place, 0], np.abs(sums.measured.values[place]).max()
    line = own + np.linspace(-2 * size, 2 * size, 4001)
    numbers = np.nan_to_num(np.abs(_number(estimator, with_values(sums, place, line))), nan=0.0, posinf=1e300)
    far = 20
    around = np.maximum(numbers[: -2 * far], numbers[2 * far :])
    peaks = far + np.flatnonzero((numbers[far:-far] > 3 * around) & (numbers[far:-far] > 3 * numbers[len(line) // 2]))
    return None if not len(peaks) else float(line[peaks[np.abs(line[peaks] - own).argmin()]])
