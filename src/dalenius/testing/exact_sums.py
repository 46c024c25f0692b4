"""Sums that an estimator reads, of given rows: about any centres, in any steps, with noise of any variance."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimator import ROWS, Estimator
from dalenius.algebra.sums import MeasuredArrays, Sums, product_of
from dalenius.core.law import FloatArray

ENDS = {"x": (-30, 90), "y": (1, 40)}
CENTRES = {"x": 30, "y": 20}
Rows = Mapping[str, FloatArray]
"""Values of each role: a line for each cell."""


def example_rows() -> Rows:
    """Rows of five cells, with ties, skew and correlation; the mean of x in the first is near zero."""
    rng = np.random.default_rng(26)
    x = rng.gamma([[1], [2], [3], [5], [9]], 6, (5, 60)) + 5
    x[0] = 4 * x[0] - 40
    x = np.rint(x.clip(-28, 88))
    return {"x": x, "y": np.rint((x / 4 + 8 + rng.integers(1, 12, (5, 60))).clip(2, 39))}


def exact_sums(
    estimator: Estimator, rows: Rows, *, copies: float = 1, centres: Mapping[str, int] = CENTRES, steps: int = 1
) -> Sums:
    """Sums of so many copies of the rows without noise, and of products of what rows add; values are times `steps`."""
    about = {
        role: 0 if any(role in need.roles for need in estimator.reads if need.is_raw) else steps * centres[role]
        for role in estimator.roles
    }
    ends = {role: (steps * ENDS[role][0], steps * ENDS[role][1]) for role in about}
    values = {role: steps * own for role, own in rows.items()}
    added = added_by(estimator, values, about, ends.get("x", ENDS["x"]))
    forms = {name: LinearForm.array(place) for place, name in enumerate(added)}
    reads = {name for need in estimator.reads for name in need.names}
    law = EstimateLaw(
        estimator=estimator.name,
        version=estimator.version,
        sums={name: form for name, form in forms.items() if name in reads},
        products={name: form for name, form in forms.items() if name not in reads},
        centres={role: Fraction(centre) for role, centre in about.items()},
        ends=ends,
        least=Fraction(estimator.least or 1),
    )
    sums = copies * np.array([each.sum(axis=1) for each in added.values()])
    return Sums(law, MeasuredArrays(sums, np.zeros((len(sums), 1)), np.zeros((len(sums), 1))))


def added_by(
    estimator: Estimator, rows: Rows, about: Mapping[str, int], ends: tuple[int, int]
) -> dict[str, FloatArray]:
    """What each row adds to each sum, and to each product of two of them; the property of x is to be small."""
    low, width = ends[0], ends[1] - ends[0] + 1
    added: dict[str, FloatArray] = {}
    for need in estimator.reads:
        for place, name in enumerate(need.names):
            cuts = [low + width * k // (need.classes or 2) for k in (place, place + 1)]
            if need.product == ROWS:
                added[name] = np.ones_like(rows["x"])
            elif need.product.endswith(" in"):
                added[name] = np.asarray((cuts[0] <= rows["x"]) & (rows["x"] < cuts[1]), dtype=np.float64)
            else:
                added[name] = np.asarray(np.prod([rows[role] - about[role] for role in need.roles], axis=0))
    for first, second in combinations_with_replacement(list(added), 2):
        product = product_of(first, second)
        if product is not None and product not in added:
            added[product] = added[first] * added[second]
    return added


def with_values(sums: Sums, place: int, values: FloatArray, deviation: float = 0.0) -> Sums:
    """Other values of one sum, with noise of a standard deviation; the other sums are those of the cells or of the
    first.
    """
    arrays = sums.measured.values.copy()
    if len(values) != arrays.shape[1]:
        arrays = np.repeat(arrays[:, :1], len(values), axis=1)
    arrays[place] = values
    variance = np.zeros((len(arrays), 1))
    variance[place] = deviation**2
    return Sums(sums.law, MeasuredArrays(arrays, variance, np.zeros_like(variance)))
