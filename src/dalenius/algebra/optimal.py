"""Least noise for a list of margins: closed forms where they exist, a small concave maximisation elsewhere.

Gaussian noise of variance s_A on each residual component costs sum_A k_A / s_A, where k_A is the squared distance of
the two records in the component. The weighted sum of variances, sum_A v_A s_A, is then least (Cauchy-Schwarz) at
s_A = (T / c) sqrt(k_A / v_A), T = sum_A sqrt(v_A k_A), and equals T^2 / c. The largest variance, and the several
patterns of a replaced record, are weights on the simplex of margins and of patterns: T is concave in both.

References: Xiao et al. (2023), Theorems 3-5, derived again in `docs/explanation/margins.md`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import log10, prod

import numpy as np

from dalenius.algebra.margins import Margin, Workload
from dalenius.core.law import FloatArray
from dalenius.core.rationals import round_up
from dalenius.errors import TooLarge

MOST_PATTERN_AXES = 14
Pattern = frozenset[int] | None
"""The axes in which two records differ; None for a record that is added or removed."""


def shift_length(shape: Sequence[int], margin: Margin, pattern: Pattern) -> int:
    """Squared length of the integer shift of a residual measurement with grid 1/N_A, N_A = prod n_i.

    A record moves the centred array by N_A centre(e_j), an integer vector of squared length prod n_i (n_i - 1); two
    records that differ exactly in the axes of `pattern` are 2 (N_A^2 p_A - N_A^2 prod([same] - 1/n_i)) apart.
    """
    alone = prod(shape[i] * (shape[i] - 1) for i in margin)
    if pattern is None:
        return alone
    common = prod(shape[i] * ((0 if i in pattern else shape[i]) - 1) for i in margin)
    return 2 * (alone - common)


def patterns(axes: Sequence[int], *, is_replace: bool, is_size_public: bool) -> tuple[Pattern, ...]:
    """All ways in which two neighbours' records can differ, as far as the margins can tell."""
    if not is_replace:
        return (None,)
    if len(axes) > MOST_PATTERN_AXES:
        raise TooLarge(
            f"Under replace neighbours, lists over more than {MOST_PATTERN_AXES} variables are not served.",
            received=len(axes),
            limit=MOST_PATTERN_AXES,
        )
    every = [frozenset(a for a, d in zip(axes, bits, strict=True) if d) for bits in product((0, 1), repeat=len(axes))]
    pairs: tuple[Pattern, ...] = tuple(s for s in every if s)
    # A record that moves into or out of the table (a filter, a dropped value) is an added or removed one.
    return pairs if is_size_public else (None, *pairs)


def _distances(workload: Workload, components: Sequence[Margin], moves: Sequence[Pattern]) -> FloatArray:
    """k[S, A]: squared distance of the two records of pattern S in the component A."""
    scale = np.array([float(workload.size(a)) ** 2 for a in components])
    columns = [_lengths(workload.shape, a, moves) for a in components]
    return np.asarray(np.array(columns, dtype=np.float64).T / scale)


def _lengths(shape: Sequence[int], margin: Margin, moves: Sequence[Pattern]) -> list[int]:
    """Shift lengths of one component for all patterns; only the part of a pattern inside the margin matters."""
    inside = frozenset(margin)
    lengths: dict[Pattern, int] = {}
    out = []
    for pattern in moves:
        part = None if pattern is None else pattern & inside
        if part not in lengths:
            lengths[part] = shift_length(shape, margin, part)
        out.append(lengths[part])
    return out


def select(
    workload: Workload,
    cost: float,
    moves: Sequence[Pattern] = (None,),
    *,
    objective: str = "weighted",
    without: frozenset[Margin] = frozenset(),
) -> dict[Margin, float]:
    """Component variances of least loss whose cost is `cost` (= 2 rho) for the worst pattern, in floats.

    `without` are components that are known (the public total): they get variance 0 and cost nothing.
    """
    names = [a for a in workload.components if a not in without]
    distance = _distances(workload, names, moves)
    keep = distance.max(axis=0) > 0
    if objective == "maximum":
        gains = np.array(
            [
                [workload.factors(m).get(a, 0.0) / w for a in names]
                for m, w in zip(workload.margins, workload.importance, strict=True)
            ]
        )
    else:
        gains = np.array([[workload.influence[a] for a in names]])
    weight = np.full(len(gains), 1 / len(gains))
    price = np.full(len(distance), 1 / len(distance))
    best: tuple[float, FloatArray] | None = None
    # Large problems stop earlier: every iterate is feasible, so this costs a little accuracy and no privacy.
    for step in range(min(20_000, max(200, 300_000_000 // max(gains.size + distance.size, 1)))):
        v, k = weight @ gains, price @ distance
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(keep & (v > 0), np.sqrt(k / v), 1.0)
        inverse = np.where(keep, 1 / np.maximum(variance, 1e-300), 0.0)
        costs, losses = distance @ inverse, gains @ variance
        # Scaled to the cost, every iterate is feasible; the dual value bounds the optimum from below.
        value, bound = costs.max() * losses.max(), np.sqrt(v * k)[keep].sum() ** 2
        if best is None or value < best[0]:
            best = (float(value), variance * costs.max() / cost)
        if (len(weight) == 1 and len(price) == 1) or (step % 10 == 0 and best[0] <= bound * (1 + 1e-8)):
            break
        weight = _renew(weight, losses)
        price = _renew(price, costs)
    assert best is not None
    variances = dict(zip(names, (float(s) for s in best[1]), strict=True))
    return {a: 0.0 if a in without else variances[a] for a in workload.components}


def _renew(weight: FloatArray, gain: FloatArray) -> FloatArray:
    """One step of the multiplicative algorithm: weight moves to where most is gained."""
    fresh: FloatArray = weight * gain / gain.max()
    total: float = fresh.sum()
    return fresh / total


_STEP = Fraction(1_000_000_001, 1_000_000_000)
_BITS, _WIDE = 100, 60


def grid_variances(
    workload: Workload, components: Mapping[Margin, float], cost: Fraction, moves: Sequence[Pattern]
) -> dict[Margin, Fraction]:
    """Exact variances of the integer noise (in units of 1/N_A) that stay within the cost, rounded up.

    The floats of `select` only propose; the cost of what is returned is computed in integers.
    """
    factor = Fraction(1)
    while True:
        scaled: dict[Margin, Fraction] = {}
        for a, variance in components.items():
            if variance > 0:
                exact = Fraction(variance) * workload.size(a) ** 2 * factor
                digits = 10 ** max(0, 8 - int(log10(float(exact) + 1)))
                scaled[a] = round_up(exact, digits)
        spent = exact_cost(workload.shape, scaled, moves)
        if spent <= cost:
            return scaled
        # As far as is missing, and a little further, in few digits: many steps of a billionth have a long product.
        factor = round_up(factor * max(spent / cost, _STEP), 10**12)


def exact_cost(shape: Sequence[int], grid: Mapping[Margin, Fraction], moves: Sequence[Pattern]) -> Fraction:
    """2 rho of residual measurements with the given integer noise, for the worst pattern; rounded up."""
    return worst_cost([(_lengths(shape, a, moves), variance) for a, variance in grid.items()])


def worst_cost(parts: Sequence[tuple[Sequence[int], Fraction]]) -> Fraction:
    """2 rho of parts with these squared shifts, one for each way, and variances, for the worst way; rounded up."""
    widest = max((v.numerator.bit_length() - v.denominator.bit_length() for _, v in parts), default=0)
    # Noise that is very wide costs less than the last bit, which would be all that is seen of it.
    bits = _BITS + (widest if widest > _WIDE else 0)
    totals = [0] * max((len(lengths) for lengths, _ in parts), default=0)
    for lengths, variance in parts:
        price = {length: -(-(length * variance.denominator << bits) // variance.numerator) for length in set(lengths)}
        totals = [total + price[length] for total, length in zip(totals, lengths, strict=True)]
    return Fraction(max(totals, default=0), 1 << bits)
