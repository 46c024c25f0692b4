"""How sums of powers follow from what is measured: exact linear forms that plans and readers share.

With u = x - low and v = high - x the products C(d, i) u^i v^(d - i) of a row are not negative and add up to (high -
low)^d, so that all powers up to d cost what one count costs. Degree 1 is the pair of totals from both bounds. Products
of such products of several variables add up to a constant, too.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import comb, prod

from dalenius.algebra.estimate_law import LinearForm
from dalenius.algebra.estimator import ROWS


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
            # Coefficients of u^i v^(d - i), times (a u + b v).
            longer = [*polynomial, Fraction(0)]
            polynomial = [b * longer[i] + (a * longer[i - 1] if i else 0) for i in range(len(longer))]
        forms.append(LinearForm({i: c / comb(degree, i) / width**degree for i, c in enumerate(polynomial) if c}))
    return tuple(forms)


def box(ends: Mapping[str, tuple[int, int, int]], degrees: Mapping[str, int]) -> dict[str, LinearForm]:
    """Sums of all products of powers of roles up to a degree of each, by name, as forms of products of such arrays.

    `ends` are the bounds and the centre of each role. Arrays are in the order of the roles, the last one fastest.

    >>> forms = box({"x": (0, 1, 0), "y": (0, 1, 0)}, {"x": 1, "y": 1})
    >>> list(forms), forms["x"].to_dict(), forms["x y"].to_dict()
    (['1', 'y', 'x', 'x y'], {'2': '1', '3': '1'}, {'3': '1'})
    """
    apart = [bernstein(*ends[role], degree) for role, degree in degrees.items()]
    sizes = [degree + 1 for degree in degrees.values()]
    forms = {}
    for powers in product(*map(range, sizes)):
        weights = {}
        for number, place in enumerate(product(*map(range, sizes))):
            weight = prod(
                (one[power].weights.get(i, Fraction(0)) for one, power, i in zip(apart, powers, place, strict=True)),
                start=Fraction(1),
            )
            if weight:
                weights[number] = weight
        name = " ".join(role for role, power in zip(degrees, powers, strict=True) for _ in range(power))
        forms[name or ROWS] = LinearForm(weights)
    return forms


def pair(low: int, high: int, centre: Fraction | int) -> dict[str, LinearForm]:
    """Number of rows and total about the centre, from the totals x - low and high - x, in this order."""
    rows, total = (form.turned(1) for form in bernstein(low, high, centre, 1))
    return {ROWS: rows, "x": total}


def sized(low: int, centre: Fraction | int, size: int) -> dict[str, LinearForm]:
    """The same from the total x - low of a public number of rows."""
    return {
        "1": LinearForm(constant=Fraction(size)),
        "x": LinearForm({0: Fraction(1)}, -size * (Fraction(centre) - low)),
    }
