"""How far each row moves an estimate, at released numbers: what its error of sampling needs where products of all sums
would be too many (docs/reference/estimators/index.md).

A cell's polynomial is written about the cell's own means, where it is smallest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb, prod

import numpy as np

from dalenius.algebra.dual import Dual
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.sums import Sums
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.query import RowsQuery

# What a row adds where h is largest within the declared bounds; less is rounded up, so that no variance is too small.
GRID = 2**24
Exponents = tuple[int, ...]


def exponents_of(names: Sequence[str], roles: Sequence[str]) -> tuple[Exponents, ...]:
    """All powers of the roles that polynomials of these sums have.

    >>> exponents_of(["1", "x", "y", "x y"], ["x", "y"])
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """
    highest = [_powers(name, roles) for name in names]
    below = {low for high in highest for low in product(*(range(power + 1) for power in high))}
    return tuple(sorted(below))


def _powers(name: str, roles: Sequence[str]) -> Exponents:
    factors = () if name == ROWS else name.split()
    return tuple(factors.count(role) for role in roles)


def influences(sums: Sums, dual: Dual) -> FloatArray:
    """A row for each number by which a cell's h is known: means of the roles, coefficients, and the largest size.

    Where one of them is not known, those of h = 0.
    """
    if "classes" in sums.law.more:
        return _of_classes(sums, dual)
    names, roles = list(sums.places), sorted(sums.law.ends)
    cells = max(len(dual.values), dual.gradient.shape[1])
    # Where no mean is measured the polynomial is about the centre of the bounds.
    is_measured = ROWS in sums.places
    about = [
        np.broadcast_to(sums[role].values / sums[ROWS].values if is_measured and role in sums.places else 0.0, cells)
        for role in roles
    ]
    exponents = exponents_of(names, roles)
    coefficients = np.zeros((len(exponents), cells))
    for place, name in enumerate(names):
        powers = _powers(name, roles)
        for target, low in enumerate(exponents):
            if all(a <= b for a, b in zip(low, powers, strict=True)):
                moved = [comb(b, a) * about[k] ** (b - a) for k, (a, b) in enumerate(zip(low, powers, strict=True))]
                coefficients[target] += dual.gradient[place] * prod(moved, start=np.ones(1))
    means = [sums.centre(role) + about[k] for k, role in enumerate(roles)]
    far = [
        np.maximum(np.abs(sums.law.ends[role][0] - mean), np.abs(sums.law.ends[role][1] - mean))
        for role, mean in zip(roles, means, strict=True)
    ]
    terms = [np.abs(own) * prod((f**a for f, a in zip(far, low, strict=True)), start=np.ones(1))
             for own, low in zip(coefficients, exponents, strict=True)]  # fmt: skip
    # The largest weight of a row, in steps.
    largest = np.sum(terms, axis=0) * float(sums.law.more.get("heaviest", 1))
    made = np.stack([*means, *coefficients, largest])
    is_known = np.isfinite(made).all(axis=0) & (largest > 0)
    nothing = np.zeros((len(made), 1))
    nothing[-1] = 1.0
    return np.where(is_known, made, nothing)


def _of_classes(sums: Sums, dual: Dual) -> FloatArray:
    """How far a row of each class moves a number, and the largest of these."""
    cells = max(len(dual.values), dual.gradient.shape[1])
    gradient = np.broadcast_to(dual.gradient, (len(dual.gradient), cells))
    moved = np.stack(
        [
            gradient[sums.places[ROWS]] + sum(gradient[sums.places[name]] for name in names)
            for names in sums.law.more["classes"]
        ]
    )
    largest = np.abs(moved).max(axis=0)
    is_known = np.isfinite(moved).all(axis=0) & (largest > 0)
    return np.concatenate([np.where(is_known, moved, 0.0), np.where(is_known, largest, 1.0)[None, :]])


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluenceRows:
    """Rows by which an estimate is moved: the query that lists them, and the numbers of each cell's polynomial.

    With `weight` the last variable of the query is one by which rows count, times a number and plus another.
    """

    query: RowsQuery
    exponents: tuple[Exponents, ...]
    points: tuple[tuple[float, ...], ...]
    weight: tuple[int, int] | None = None

    @classmethod
    def unknown(
        cls, query: RowsQuery, names: Sequence[str], roles: Sequence[str], weight: tuple[int, int] | None
    ) -> "InfluenceRows":
        """Before anything is released: rows that move nothing."""
        exponents = exponents_of(names, roles)
        cells = 1 if query.space is None else query.space.size
        nothing = (*(0.0,) * (len(roles) + len(exponents)), 1.0)
        return cls(query=query, exponents=exponents, points=(nothing,) * cells, weight=weight)

    def at(self, points: FloatArray, cells: int) -> "InfluenceRows":
        """At released numbers: a row for each number, as `influences` says them."""
        by_cell = np.broadcast_to(points, (len(points), cells)).T
        return replace(self, points=tuple(map(tuple, by_cell.tolist())))

    def shares(self, rows: IntArray | FloatArray) -> tuple[IntArray, FloatArray]:
        """The cell of each line, and h in parts of the largest one of its cell, between -1 and 1."""
        first, *values = rows.T
        cell = np.asarray(first, dtype=np.int64)
        numbers, weights = np.array(values, dtype=np.float64), 1.0
        if self.weight is not None:
            multiple, common = self.weight
            numbers, weights = numbers[:-1], multiple * numbers[-1] + common
        points, many = np.asarray(self.points).T[:, cell], len(numbers)
        with np.errstate(all="ignore"):
            distances = [own - mean for own, mean in zip(numbers, points[:many], strict=True)]
            h = sum(
                # Repeated products are rounded alike wherever a row stands; powers of arrays need not be.
                own * prod((d for d, a in zip(distances, low, strict=True) for _ in range(a)), start=np.ones(1))
                for own, low in zip(points[many:-1], self.exponents, strict=True)
            )
            share = np.nan_to_num(weights * h / points[-1], nan=1.0, posinf=1.0, neginf=-1.0)
        return cell, np.clip(share, -1.0, 1.0)
