"""What releases on stacked samples are compared with, worked out from the rows by NumPy alone.

Most measures are functions of sums over rows: the same function gives the value of every group, that of the file, and (by
its derivative, taken with a complex step) the interval that a textbook states without noise. Order statistics are sets: every v with
#{x < v} <= q n <= #{x <= v} is a q-quantile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import brentq, root
from scipy.stats import norm, poisson

from dalenius.core.domain import CellSpace
from dalenius.core.law import FloatArray, IntArray
from verify._stacks import GROUPED, Rows, Stack

Sums = Mapping[str, Any]
Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The true number of every cell, as the least and the largest value that may be called it, and the textbook's interval.

    `of_file` are those of the file, for intervals with sampling; None where no sample tells them.
    """

    own: tuple[FloatArray, FloatArray]
    of_file: tuple[FloatArray, FloatArray] | None = None
    textbook: tuple[FloatArray, FloatArray] | None = None


def _variance(s: Sums) -> Any:
    return (s["xx"] / s["n"] - (s["x"] / s["n"]) ** 2) * s["n"] / (s["n"] - 1)


def _covariance(s: Sums) -> Any:
    return (s["xy"] / s["n"] - s["x"] * s["y"] / s["n"] ** 2) * s["n"] / (s["n"] - 1)


def _correlation(s: Sums) -> Any:
    n = s["n"]
    spread = np.sqrt((s["xx"] / n - (s["x"] / n) ** 2) * (s["yy"] / n - (s["y"] / n) ** 2))
    return (s["xy"] / n - s["x"] * s["y"] / n**2) / spread


ESTIMATORS: dict[str, Callable[[Sums], Any]] = {
    "count": lambda s: s["n"],
    "weighted count": lambda s: s["n"],
    "squared weights": lambda s: s["ww"],
    "total": lambda s: s["x"],
    "mean": lambda s: s["x"] / s["n"],
    "ratio": lambda s: s["x"] / s["y"],
    "proportion": lambda s: s["in"] / s["n"],
    "distribution": lambda s: s["in"] / s["n"],
    "variance": _variance,
    "standard_deviation": lambda s: np.sqrt(_variance(s)),
    "covariance": _covariance,
    "correlation": _correlation,
}
DEGREE_ONE = ("count", "weighted count", "squared weights", "total")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request on a stack: which rows count, and with what weight."""

    stack: Stack
    table: Mapping[str, Any]

    def number(self, rows: Rows, role: str) -> FloatArray:
        """A variable as this request reads it: with its weights drawn together, if they are."""
        values = rows.numbers[role]
        if role != "w" or "regularise" not in self.table:
            return values
        share, part = float(Fraction(self.table["regularise"])), self.stack.population.parts["w"]
        middle = sum(float(Fraction(str(end))) for end in part["bounds"]) / 2
        return share * middle + (1 - share) * values

    def is_counted(self, rows: Rows) -> Any:
        """Rows that have every number the request names, and that pass its conditions."""
        kept = np.ones(len(rows.by), dtype=np.bool_)
        named = [self.table.get(key) for key in ("of", "other", "weight")]
        for role in {role for role in named if role in rows.numbers} | (
            self.table.get("where", {}).keys() - {"by", "sample"}
        ):
            kept &= ~np.isnan(rows.numbers[role])
        for role, condition in self.table.get("where", {}).items():
            if role == "by":
                kept &= np.isin(rows.by, [self.code(label) for label in condition])
            elif role != "sample":
                kept &= _is_inside(rows.numbers[role], condition)
        return kept

    def code(self, label: str) -> int:
        """Of a category."""
        return [str(c) for c in self.stack.population.parts["by"]["categories"]].index(str(label))

    def addends(self, rows: Rows, inside: Any = None, cut: tuple[float, float] | None = None) -> dict[str, FloatArray]:
        """What each row adds to every sum."""
        kept = self.is_counted(rows)
        of, other, weight = (str(self.table.get(key, "")) for key in ("of", "other", "weight"))
        w = np.where(kept, self.number(rows, "w") if weight else 1.0, 0.0)
        x = np.nan_to_num(rows.numbers[of]) if of in rows.numbers else np.zeros(len(w))
        x = x if cut is None else np.clip(x, cut[0], cut[1])
        y = np.nan_to_num(rows.numbers[other]) if other in rows.numbers else np.zeros(len(w))
        if inside is None:
            inside = self.has_property(rows, x)
        return {
            "n": w, "ww": w * w, "x": w * x, "y": w * y, "in": w * inside, "xx": w * x * x, "xy": w * x * y, "yy": w * y * y
        }  # fmt: skip

    def has_property(self, rows: Rows, x: FloatArray) -> Any:
        """What a proportion is of."""
        among = self.table.get("among", {})
        if isinstance(among, Mapping):
            return _is_inside(x, among)
        return np.isin(rows.by, [self.code(label) for label in among])


def _is_inside(x: FloatArray, condition: Mapping[str, Any]) -> Any:
    low, high = (float(condition.get(key, end)) for key, end in (("at_least", -np.inf), ("at_most", np.inf)))
    return (x >= low - 1e-9) & (x <= high + 1e-9)


def places(asked: Asked, rows: Rows, space: CellSpace, *, is_file: bool = False) -> tuple[IntArray, tuple[int, ...]]:
    """In which cell of the table each row lies, or -1; and the shape of the table without an axis that no row lies on.

    A row of the file lies in the cells of every sample: its place is that of the first.
    """
    place, shape = np.zeros(len(rows.by), dtype=np.int64), []
    for axis in space.axes:
        if axis.variable in ("sample", "word"):
            names = (
                {f"h{k}": k for k in range(asked.stack.groups)}
                if axis.level
                else {f"s{k}": k for k in range(asked.stack.groups)}
            )
            codes = np.full(asked.stack.groups, -1)
            for position, label in enumerate(axis.labels):
                if label in names:
                    codes[names[label]] = position
            own = codes[rows.group // GROUPED if axis.level else rows.group]
            own = np.zeros(len(own), dtype=np.int64) if is_file else own
        elif axis.variable == "by":
            codes = np.full(len(asked.stack.population.parts["by"]["categories"]), -1)
            for position, label in enumerate(axis.labels):
                codes[asked.code(label)] = position
            own = codes[rows.by]
        else:
            continue
        place = np.where((place < 0) | (own < 0), -1, place * len(axis) + own)
        shape.append(len(axis))
    return place, tuple(shape)


def _added(place: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.bincount(place, weights=values, minlength=size).astype(np.float64)


def _summed(place: IntArray, size: int, addends: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    inside = place >= 0
    return {name: _added(place[inside], values[inside], size) for name, values in addends.items()}


def estimate(
    asked: Asked,
    space: CellSpace,
    measure: str,
    inside: Callable[[FloatArray], Any] | None,
    cut: tuple[float, float] | None,
) -> Truth:
    """Of every cell, of the file, and the textbook's interval."""
    rows, whole = asked.stack.rows, asked.stack.population.rows
    place, shape = places(asked, rows, space)
    size, formula = int(np.prod(shape)), ESTIMATORS[measure]
    per = float(Fraction(str(asked.table.get("per", 1)))) if measure in ("ratio", "proportion") else 1.0

    def addends(of: Rows) -> dict[str, FloatArray]:
        values = of.numbers.get(str(asked.table.get("of")), np.zeros(len(of.by)))
        return asked.addends(of, None if inside is None else inside(values), cut)

    parts = addends(rows)
    sums = _summed(place, size, parts)
    with np.errstate(all="ignore"):
        own = per * formula(sums)
        below = _file_sums(asked, space, size, shape, addends(whole))
        share = asked.stack.population.expected_persons / asked.stack.population.persons
        target = per * formula(below) * (share if measure in DEGREE_ONE else 1.0)
        half = per * Z * np.sqrt(_delta_variance(formula, sums, parts, place, rows))
        textbook = own - half, own + half
    has_samples = any(axis.variable == "sample" and not axis.level for axis in space.axes)
    return Truth(
        own=(own, own), of_file=(target, target) if has_samples else None, textbook=textbook if has_samples else None
    )


def _file_sums(
    asked: Asked, space: CellSpace, size: int, shape: tuple[int, ...], addends: Mapping[str, FloatArray]
) -> Sums:
    """Sums over the file, the same in the cells of every sample."""
    place, _ = places(asked, asked.stack.population.rows, space, is_file=True)
    sums = _summed(place, size, addends)
    variables = [axis.variable for axis in space.axes if axis.variable in ("sample", "word", "by")]
    found = {}
    for name, values in sums.items():
        array = values.reshape(shape)
        for number, variable in enumerate(variables):
            if variable != "by":
                array = np.broadcast_to(array.take([0], axis=number), shape)
        found[name] = np.array(array).ravel()
    return found


def _delta_variance(
    formula: Any, sums: Sums, parts: Mapping[str, FloatArray], place: IntArray, rows: Rows
) -> FloatArray:
    """Sum over persons of the squared first-order effect; rows of one person are one draw."""
    inside = place >= 0
    effect = np.zeros(len(place))
    for name, values in sums.items():
        scale = np.maximum(np.abs(values), 1.0) * 1e-20
        slope = np.imag(formula({**sums, name: values + 1j * scale})) / scale
        effect[inside] += slope[place[inside]] * parts[name][inside]
    # A person of several rows may lie in several cells of a sample.
    size = len(next(iter(sums.values())))
    key, back = np.unique(rows.person[inside] * np.int64(size) + place[inside], return_inverse=True)
    by_person = _added(back, effect[inside], len(key))
    return _added(key % size, by_person**2, size)


def curves(asked: Asked, space: CellSpace, points: Sequence[float]) -> Truth:
    """Shares of rows that are at most so large, point by point within each cell."""
    found = [estimate(asked, space, "distribution", lambda x, p=p: x <= p + 1e-9, None) for p in points]  # type: ignore[misc]

    def together(ends: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        low, high = zip(*ends, strict=True)
        return np.stack(low, axis=-1).ravel(), np.stack(high, axis=-1).ravel()

    of_file = [one.of_file for one in found if one.of_file is not None]
    return Truth(own=together([one.own for one in found]), of_file=together(of_file) if of_file else None)


def quantile_sets(asked: Asked, space: CellSpace, qs: Sequence[Fraction]) -> Truth:
    """The least and the largest q-quantile of each cell and of the file, level by level."""
    rows, whole = asked.stack.rows, asked.stack.population.rows
    place, shape = places(asked, rows, space)
    size = int(np.prod(shape))
    own = _sets(rows.numbers[asked.table["of"]], np.where(asked.is_counted(rows), place, -1), size, qs)
    kept, first = asked.is_counted(whole), places(asked, whole, space, is_file=True)[0]
    assert "by" not in [axis.variable for axis in space.axes], "quantiles are asked of samples alone"
    target = _sets(whole.numbers[asked.table["of"]], np.where(kept & (first >= 0), 0, -1), 1, qs)
    return Truth(own=own, of_file=(np.tile(target[0], size), np.tile(target[1], size)))


def _sets(values: FloatArray, place: IntArray, size: int, qs: Sequence[Fraction]) -> tuple[FloatArray, FloatArray]:
    inside = place >= 0
    order = np.lexsort((values[inside], place[inside]))
    ordered, count = values[inside][order], np.bincount(place[inside], minlength=size)
    start = np.cumsum(count) - count
    low, high = np.full((size, len(qs)), -np.inf), np.full((size, len(qs)), np.inf)
    for k, rank in enumerate(qs):
        least = np.array([-(-rank.numerator * int(n) // rank.denominator) for n in count])
        most = np.array([rank.numerator * int(n) // rank.denominator + 1 for n in count])
        has = (least >= 1) & (count > 0)
        low[has, k] = ordered[(start + least - 1)[has]]
        has = (most <= count) & (count > 0)
        high[has, k] = ordered[(start + most - 1)[has]]
    return low.ravel(), high.ravel()


def distances(truth: Truth, qs: Sequence[Fraction]) -> Truth:
    """The distance of the quartiles, from sets of quantiles of several levels."""
    first, third = qs.index(Fraction(1, 4)), qs.index(Fraction(3, 4))

    def apart(ends: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        low, high = (end.reshape(-1, len(qs)) for end in ends)
        return low[:, third] - high[:, first], high[:, third] - low[:, first]

    assert truth.of_file is not None
    return Truth(own=apart(truth.own), of_file=apart(truth.of_file))


def persons(asked: Asked, space: CellSpace) -> Truth:
    """Different persons in each cell."""
    rows = asked.stack.rows
    place, shape = places(asked, rows, space)
    kept = asked.is_counted(rows) & (place >= 0)
    size = int(np.prod(shape))
    key = np.unique(rows.person[kept] * np.int64(size) + place[kept])
    own = np.bincount(key % size, minlength=size).astype(np.float64)
    if any(axis.variable == "word" for axis in space.axes):
        # The last cell are persons whose text is not listed.
        own[-1] = len(np.unique(rows.person)) - own[:-1].sum()
    return Truth(own=(own, own))


def clipped(asked: Asked, space: CellSpace, bound: float) -> Truth:
    """Counts or totals, of which a person adds at most so much to all cells of the table together."""
    rows = asked.stack.rows
    place, shape = places(asked, rows, space)
    kept = asked.is_counted(rows) & (place >= 0)
    size = int(np.prod(shape))
    amounts = rows.numbers[asked.table["of"]] if "of" in asked.table else np.ones(len(place))
    key, back = np.unique(rows.person[kept] * np.int64(size) + place[kept], return_inverse=True)
    added = np.bincount(back, weights=amounts[kept])
    person = key // size
    if asked.table.get("norm") == "l2":
        norm = np.sqrt(np.bincount(person, weights=added**2))
    elif "of" in asked.table:
        norm = np.bincount(rows.person[kept], weights=np.abs(amounts[kept]))
    else:
        norm = np.bincount(person, weights=np.abs(added))
    scale = np.minimum(1.0, bound / np.maximum(norm[person], 1e-300))
    own = _added(key % size, added * scale, size)
    return Truth(own=(own, own))


def sizes(asked: Asked, bounds: Sequence[float]) -> Truth:
    """Persons whose records, or amounts, are within each bound and above the one before; the last class is above all of them."""
    rows = asked.stack.rows
    kept = asked.is_counted(rows)
    amounts = rows.numbers[asked.table["of"]] if "of" in asked.table else np.ones(len(kept))
    is_root = asked.table.get("norm") == "l2"
    # A person lies in one sample, so that with samples alone as cells both norms are that of one number.
    added = np.bincount(rows.person[kept], weights=np.abs(amounts[kept]))
    if is_root and "of" in asked.table:
        added = np.abs(np.bincount(rows.person[kept], weights=amounts[kept]))
    seen = np.bincount(rows.person[kept]) > 0
    own = np.bincount(np.searchsorted(bounds, added[seen] - 1e-9), minlength=len(bounds) + 1).astype(np.float64)
    return Truth(own=(own, own))


def dominated(asked: Asked) -> Truth:
    """Samples whose total less the two largest contributions is below p % of the largest."""
    rows = asked.stack.rows
    kept = asked.is_counted(rows)
    verdicts = 0
    for own in np.split(*_parted(np.abs(rows.numbers[asked.table["of"]][kept]), rows.group[kept])):
        ordered = np.sort(own)[::-1]
        verdicts += bool(len(own) and 100 * ordered[2:].sum() < asked.table["rule"]["p"] * ordered[0])
    return Truth(own=(np.array([float(verdicts)]), np.array([float(verdicts)])))


def _parted(values: FloatArray, place: IntArray) -> tuple[FloatArray, IntArray]:
    order = np.argsort(place, kind="stable")
    return values[order], np.flatnonzero(np.diff(place[order])) + 1


def clipped_by_cell(asked: Asked, space: CellSpace, bounds: FloatArray) -> Truth:
    """Totals of values that are cut to a bound of their own cell, in size."""
    rows = asked.stack.rows
    place, shape = places(asked, rows, space)
    kept = asked.is_counted(rows) & (place >= 0)
    cut = np.clip(rows.numbers[asked.table["of"]][kept], -bounds[place[kept]], bounds[place[kept]])
    own = _added(place[kept], cut, int(np.prod(shape)))
    return Truth(own=(own, own))


def fitted(asked: Asked, space: CellSpace) -> Truth:
    """Parameters under which values that are cut as these are have the moments of each cell; NaN where there are none."""
    rows, role = asked.stack.rows, asked.table["of"]
    place, shape = places(asked, rows, space)
    sums = _summed(place, int(np.prod(shape)), asked.addends(rows))
    low, high = (float(Fraction(str(end))) for end in asked.stack.population.parts[role]["bounds"])
    solve = {"gaussian": _normal, "poisson": _poisson, "exponential": _exponential}[asked.table["model"]]
    found = [
        solve(x / n, xx / n - (x / n) ** 2, low, high) if n > 1 else (np.nan,) * len(space.axes[-1])
        for n, x, xx in zip(sums["n"], sums["x"], sums["xx"], strict=True)
    ]
    own = np.array(found, dtype=np.float64).ravel()
    return Truth(own=(own, own))


def _normal(mean: float, variance: float, low: float, high: float) -> tuple[float, float]:
    def moments(point: FloatArray) -> list[float]:
        middle, spread = point[0], np.exp(point[1])
        a, b = (low - middle) / spread, (high - middle) / spread
        inside, left, right = norm.cdf(b) - norm.cdf(a), norm.cdf(a), norm.sf(b)
        first = middle * inside + spread * (norm.pdf(a) - norm.pdf(b))
        second = (middle**2 + spread**2) * inside + spread * (
            (middle + low) * norm.pdf(a) - (middle + high) * norm.pdf(b)
        )
        first, second = first + low * left + high * right, second + low**2 * left + high**2 * right
        scale = np.sqrt(variance)
        return [(first - mean) / scale, (second - first**2) / variance - 1]

    if variance <= 0:
        return np.nan, np.nan
    done = root(moments, [mean, 0.5 * np.log(variance)], tol=1e-10)
    return (float(done.x[0]), float(np.exp(done.x[1]))) if done.success else (np.nan, np.nan)


def _poisson(mean: float, _: float, low: float, high: float) -> tuple[float]:
    values = np.arange(int(high))

    def lacks(rate: float) -> float:
        return float(high - poisson.cdf(values, rate).sum() - mean)

    return (brentq(lacks, 1e-12, 2 * high),) if low < mean < high else (np.nan,)


def _exponential(mean: float, _: float, low: float, high: float) -> tuple[float]:
    def lacks(log_rate: float) -> float:
        rate = np.exp(log_rate)
        return float(low + (np.exp(-rate * low) - np.exp(-rate * high)) / rate - mean)

    ends = (-np.log(high) - 12, 12 - np.log(max(high - low, 1)) + np.log(max(high - low, 1) / max(mean - low, 1e-9)))
    return (
        (float(np.exp(brentq(lacks, *ends))),)
        if low < mean < high and lacks(ends[0]) * lacks(ends[1]) < 0
        else (np.nan,)
    )
