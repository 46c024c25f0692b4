"""One number of a release with the reach of its errors: sums of counts, or one cell of anything else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isnan, nan, sqrt

import numpy as np

from dalenius.algebra.estimates import is_estimate
from dalenius.algebra.listed import is_list_of_estimates
from dalenius.algebra.tabulation import estimate_of
from dalenius.core.estimate import Kind
from dalenius.core.release import Release, Table
from dalenius.errors import UnknownName, Unsupported
from dalenius.inference.cells import intervals
from dalenius.inference.contrast import Where, describe, law_of, signed_total
from dalenius.inference.interval import checked, checked_kind
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.noise import Noise
from dalenius.inference.observation import find_table

Arms = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedNumber:
    """One number of a release: how far noise, and noise with sampling, reach below and above it."""

    name: str
    value: float
    noise: Arms
    both: Arms
    std_errors: tuple[float, float]
    release: Release
    table: Table
    where: Where
    place: int = -1
    """The position of its cell; -1 where several cells are added up."""
    spread: tuple[float, float] = (nan, nan)
    """Its variance of sampling as it was measured, and the variance of the noise in it; NaN where neither is known."""
    law: tuple[int, Noise] | None = None
    """The released sum and the exact law of its noise, of counts whose error is that of the noise alone."""

    @property
    def sampling(self) -> Arms:
        """What sampling adds to the reach of the noise, in squares."""
        low, high = (sqrt(max(b * b - n * n, 0.0)) for n, b in zip(self.noise, self.both, strict=True))
        return low, high

    def times(self, factor: float) -> "ReleasedNumber":
        """The number times a factor, whose sign turns its sides."""
        size = abs(factor)

        def scaled(arms: Arms) -> Arms:
            low, high = ((size * arm if size else 0.0) for arm in arms)
            return (low, high) if factor >= 0 else (high, low)

        errors = (size * self.std_errors[0], size * self.std_errors[1])
        return replace(
            self,
            value=factor * self.value,
            noise=scaled(self.noise),
            both=scaled(self.both),
            std_errors=errors,
            spread=(factor**2 * self.spread[0], factor**4 * self.spread[1]),
        )


def released_number(
    release: Release, where: Where, *, kind: str = "population", confidence: float = 0.95
) -> ReleasedNumber:
    """The number that a selection of cells names: sums of counts, or one cell of anything else."""
    checked(confidence)
    has_sampling = checked_kind(kind) is Kind.NOISE_AND_SAMPLING
    kinds = ("population", "parameter") if has_sampling else ("population",)
    table = named_table(release, where)
    owner, spread, law = release.owner(table), (nan, nan), None
    if is_counted(owner, table):
        made = [signed_total(owner, where, kind=each, confidence=confidence) for each in kinds]
        value, errors = made[0].value, [each.std_error for each in made]
        ends = [(each.interval.lower, each.interval.upper) for each in made if each.interval is not None]
        place, law = -1, None if has_sampling else law_of(owner, where)
    else:
        place = _place(table, where)
        value = float(table.values[place])
        both = (table.std_error, table.std_error_with_sampling) if has_sampling else (table.std_error,)
        errors = [float(np.broadcast_to(each, table.values.shape)[place]) for each in both]
        names = tuple(axis.name for axis in table.space.axes)
        tables = [_intervals(owner, names, each, confidence) for each in kinds]
        ends = [(float(each.lower[place]), float(each.upper[place])) for each in tables]
        if has_sampling:
            spread = _spread(owner, table.name)[place]
    if isnan(value):
        raise Unsupported(
            f"The release has no {table.measure} for {describe(where)}: there may be too few records beside the noise. "
            "Compare larger groups."
        )
    arms = [(max(value - low, 0.0), max(high - value, 0.0)) for low, high in ends]
    return ReleasedNumber(
        name=describe(where),
        value=value,
        noise=arms[0],
        both=(max(arms[0][0], arms[-1][0]), max(arms[0][1], arms[-1][1])),
        std_errors=(errors[0], max(errors[0], errors[-1])),
        release=owner,
        table=table,
        where=where,
        place=place,
        spread=spread,
        law=law,
    )


@lru_cache(maxsize=8)
def _intervals(release: Release, names: tuple[str, ...], kind: str, confidence: float) -> IntervalTable:
    """Of all cells at once; kept, because the numbers of many pairs are read one by one."""
    return intervals(release, *names, kind=kind, confidence=confidence)


@lru_cache(maxsize=8)
def _spread(release: Release, name: str) -> list[tuple[float, float]]:
    """The measured variance of sampling of every cell of a table, and the variance of its noise."""
    table = next(table for table in release.tables if table.name == name)
    made = estimate_of(release, table)
    if made is None or made.spread is None:
        return [(nan, nan)] * table.space.size
    variance, uncertainty = (np.broadcast_to(each, table.values.shape).tolist() for each in made.spread)
    return list(zip(variance, uncertainty, strict=True))


def named_table(release: Release, where: Where) -> Table:
    """The smallest shown table that has the named axes."""
    whole = next((table for table in release.tables if not table.space.axes), None)
    return find_table(release, tuple(where)) if where or whole is None else whole


def is_counted(release: Release, table: Table) -> bool:
    is_made = is_estimate(release.law) or is_list_of_estimates(release.law)
    return table.measure == "count" and not release.about.weight and not is_made


def _place(table: Table, where: Where) -> int:
    """The position of the one cell that a selection names."""
    names = [axis.name for axis in table.space.axes]
    missing = [name for name in names if name not in where]
    several = [name for name, labels in where.items() if len(labels_of(labels)) != 1]
    if missing or several:
        what = f"a label of {', '.join(missing)}" if missing else f"one label of {', '.join(several)}"
        raise Unsupported(f"A {table.measure} does not add up over cells. Name {what}.", received=describe(where))
    place = 0
    for axis in table.space.axes:
        (label,) = labels_of(where[axis.name])
        UnknownName.check(f"label of {axis.name!r}", label, axis.labels)
        place = place * len(axis) + axis.labels.index(label)
    return place


def labels_of(labels: str | Sequence[str]) -> set[str]:
    return {labels} if isinstance(labels, str) else set(labels)
