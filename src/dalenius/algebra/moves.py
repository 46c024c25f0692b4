"""What residual components cost together, in integers, for the worst neighbours: docs/explanation/margins.md."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import log10, prod

from dalenius.algebra.margins import Margin
from dalenius.core.rationals import round_up
from dalenius.errors import TooLarge

MOST_PATTERN_AXES = 14
Part = tuple[int, Margin]
"""A level of the tree and a residual component of the detail axes."""
Pattern = frozenset[int] | None
"""The axes in which two records differ; None for a record that is added or removed."""
Move = tuple[int, Pattern]
"""The first level at which the nodes of two records differ, and the detail axes in which they differ; (0, None) for one
record.
"""
ALONE: Move = (0, None)
_STEP = Fraction(1_000_000_001, 1_000_000_000)
_BITS, _WIDE = 100, 60


def shift_length(shape: Sequence[int], margin: Margin, pattern: Pattern) -> int:
    """Squared length of the integer shift of a residual measurement with grid 1/N_A, N_A = prod n_i; `pattern` are the
    axes in which two records differ (docs/explanation/margins.md).
    """
    alone = prod(shape[i] * (shape[i] - 1) for i in margin)
    if pattern is None:
        return alone
    common = prod(shape[i] * ((0 if i in pattern else shape[i]) - 1) for i in margin)
    return 2 * (alone - common)


def moves(depth: int, axes: Sequence[int], *, is_replace: bool, is_size_public: bool) -> tuple[Move, ...]:
    """All ways in which two neighbours' records can differ, as far as levels and components can tell."""
    if not is_replace:
        return (ALONE,)
    if len(axes) > MOST_PATTERN_AXES:
        raise TooLarge(
            f"Under replace neighbours, lists over more than {MOST_PATTERN_AXES} variables are not served.",
            received=len(axes),
            limit=MOST_PATTERN_AXES,
        )
    details = [frozenset(a for a, d in zip(axes, bits, strict=True) if d) for bits in product((0, 1), repeat=len(axes))]
    pairs: list[Move] = [*product(range(1, depth + 1), details), *((depth + 1, s) for s in details if s)]
    # A record that moves into or out of the table (a filter, a dropped value) is an added or removed one.
    return tuple(pairs if is_size_public else [ALONE, *pairs])


def move_lengths(shape: Sequence[int], part: Part, ways: Sequence[Move]) -> list[int]:
    level, margin = part
    inside = frozenset(margin)
    alone, lengths, out = shift_length(shape, margin, None), {}, []
    for first, pattern in ways:
        if pattern is None or level >= first:
            out.append(alone if pattern is None else 2 * alone)
            continue
        # Only what differs inside the margin matters.
        own = pattern & inside
        if own not in lengths:
            lengths[own] = shift_length(shape, margin, own)
        out.append(lengths[own])
    return out


def exact_cost(shape: Sequence[int], grid: Mapping[Part, Fraction], ways: Sequence[Move]) -> Fraction:
    """2 rho of parts with the given variances of their integer noise, for the worst way; rounded up."""
    widest = max((v.numerator.bit_length() - v.denominator.bit_length() for v in grid.values()), default=0)
    # Noise that is very wide costs less than the last bit, which would be all that is seen of it.
    bits = _BITS + (widest if widest > _WIDE else 0)
    totals = [0] * len(ways)
    for part, variance in grid.items():
        lengths = move_lengths(shape, part, ways)
        price = {length: -(-(length * variance.denominator << bits) // variance.numerator) for length in set(lengths)}
        totals = [total + price[length] for total, length in zip(totals, lengths, strict=True)]
    return Fraction(max(totals, default=0), 1 << bits)


def grid_variances(
    shape: Sequence[int], proposed: Mapping[Part, Fraction], cost: Fraction, ways: Sequence[Move]
) -> dict[Part, Fraction]:
    """Exact variances of the integer noise (in units of 1/N_A) that stay within the cost, rounded up.

    Floats only propose; the cost of what is returned is computed in integers.
    """
    factor = Fraction(1)
    while True:
        grid: dict[Part, Fraction] = {}
        for part, variance in proposed.items():
            exact = variance * factor
            grid[part] = round_up(exact, 10 ** max(0, 8 - int(log10(float(exact) + 1))))
        spent = exact_cost(shape, grid, ways)
        if spent <= cost:
            return grid
        # As far as is missing, and a little further, in few digits: many steps of a billionth have a long product.
        factor = round_up(factor * max(spent / cost, _STEP), 10**12)
