"""How sums of powers follow from what is measured: exact linear forms that plans and readers share.

With u = x - low and v = high - x the products C(d, i) u^i v^(d - i) of a row are not negative and add up to (high -
low)^d, so that all powers up to d cost what one count costs. Degree 1 is the pair of totals from both bounds.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from dalenius.algebra.estimate_law import LinearForm


def bernstein(low: int, high: int, centre: Fraction | int, degree: int) -> tuple[LinearForm, ...]:
    """Sums of (x - centre)^m, m from 0 to the degree, as forms of the degree + 1 arrays C(d, i) u^i v^(d - i).

    >>> [form.to_dict() for form in bernstein(0, 4, 2, 1)]
    [{'0': '0.25', '1': '0.25'}, {'0': '-0.5', '1': '0.5'}]
    """
    width, up, down = high - low, Fraction(high) - centre, Fraction(low) - centre
    forms = []
    for power in range(degree + 1):
        # (x - centre)^m 1^(d - m) with x - centre = (up u + down v) / width and 1 = (u + v) / width.
        polynomial = [Fraction(1)]
        for a, b in [(up, down)] * power + [(Fraction(1), Fraction(1))] * (degree - power):
            polynomial = _times(polynomial, a, b)
        forms.append(LinearForm({i: c / comb(degree, i) / width**degree for i, c in enumerate(polynomial) if c}))
    return tuple(forms)


def _times(polynomial: Sequence[Fraction], a: Fraction, b: Fraction) -> list[Fraction]:
    """Coefficients of u^i v^(d - i), times (a u + b v)."""
    longer = [*polynomial, Fraction(0)]
    return [b * longer[i] + (a * longer[i - 1] if i else 0) for i in range(len(longer))]


def pair(low: int, high: int, centre: Fraction | int) -> dict[str, LinearForm]:
    """Number of rows and total about the centre, from the totals x - low and high - x, in this order."""
    rows, total = bernstein(low, high, centre, 1)
    turned = {0: 1, 1: 0}
    return {
        name: LinearForm({turned[place]: weight for place, weight in form.weights.items()})
        for name, form in (("1", rows), ("x", total))
    }


def sized(low: int, centre: Fraction | int, size: int) -> dict[str, LinearForm]:
    """The same from the total x - low of a public number of rows."""
    return {
        "1": LinearForm(constant=Fraction(size)),
        "x": LinearForm({0: Fraction(1)}, -size * (Fraction(centre) - low)),
    }
