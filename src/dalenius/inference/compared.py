"""Differences, ratios and changes of any two released numbers, of one release or of two.

Each number has an interval of its own, for the noise or for noise and sampling. How far it reaches to either side is
its arm, and arms are joined: in squares where errors are independent, as a sum where nothing is known of their
dependence. Counts of one release are compared by the exact law of their difference instead (`contrast`, `quotient`).

Guarantee
    Approximate, as the intervals that are joined are: a difference of two numbers with normal errors has exactly its
    level, and intervals that are not symmetric keep their sides. Quantiles have no such law, and neither has noise of
    a few steps; each number gets half of the error, and the ends are added, so that the level is kept whatever their
    dependence. A ratio holds every value r
    for which the interval of first - r second holds 0; ends may be infinite.
References
    Zou and Donner (2008), Statistics in Medicine 27, for arms that are joined in squares; Donner and Zou (2012),
    Statistical Methods in Medical Research 21, and Fieller (1954) for ratios.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import hypot, inf, isnan, nan, sqrt, tan

import numpy as np

from dalenius.algebra.estimates import curves_of, is_certified, is_estimate
from dalenius.algebra.listed import correlation_bound, is_list_of_estimates
from dalenius.core.domain import Axis
from dalenius.core.estimate import Estimate, Interval, Kind
from dalenius.core.law import Additive, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.inference import contrast, quotient
from dalenius.inference.cells import intervals
from dalenius.inference.contrast import Where, describe, signed_total
from dalenius.inference.drawn import drawn_as
from dalenius.inference.interval import check_among, checked, checked_kind
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observation import find_table
from dalenius.inference.observe import Source

SAMPLES = ("overlapping", "independent")
OWN_NOISE = "The noise of the two numbers is independent."
ONE_NOISE = "Both numbers rest on the same noisy sums; their errors are joined as if they were opposed."
OTHER_ROWS = "The two numbers are of different records."
SAME_ROWS = (
    "Records may count in both numbers, and how they are related was not measured: errors of sampling are added. Two "
    'samples without common units are compared with samples = "independent".'
)
# Standard deviation of noise, in its steps, from which on it is as good as normal.
_FEW_STEPS = 3
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
            self, value=factor * self.value, noise=scaled(self.noise), both=scaled(self.both), std_errors=errors
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What two numbers have in common: the largest correlation of their noise, and whether records count in both."""

    noise: float
    has_same_rows: bool
    is_added: bool = False
    """Whether ends are added whatever is known: of quantiles, and where noise is a few steps."""

    def joined(self, first: ReleasedNumber, second: ReleasedNumber) -> Arms:
        """How far the sum of two numbers reaches below and above it."""
        return self._side(first, second, 0), self._side(first, second, 1)

    def _side(self, first: ReleasedNumber, second: ReleasedNumber, side: int) -> float:
        if self.is_added:
            return first.both[side] + second.both[side]
        noise = _together(first.noise[side], second.noise[side], self.noise)
        sampling = _together(first.sampling[side], second.sampling[side], float(self.has_same_rows))
        return hypot(noise, sampling)

    def std_error(self, first: ReleasedNumber, second: ReleasedNumber) -> float:
        (a, whole), (b, other) = first.std_errors, second.std_errors
        sampling = [sqrt(max(total * total - own * own, 0.0)) for own, total in ((a, whole), (b, other))]
        return hypot(_together(a, b, self.noise), _together(sampling[0], sampling[1], float(self.has_same_rows)))

    @property
    def words(self) -> tuple[str, str]:
        return (ONE_NOISE if self.noise else OWN_NOISE), (SAME_ROWS if self.has_same_rows else OTHER_ROWS)


def _together(first: float, second: float, correlation: float) -> float:
    """The reach of a sum of two errors with at most this correlation."""
    if inf in (first, second):
        return inf
    return sqrt(first * first + second * second + 2 * correlation * first * second)


def difference(
    source: Source,
    first: Where,
    second: Where,
    *,
    against: Release | None = None,
    kind: str = "population",
    confidence: float = 0.95,
    samples: str = "overlapping",
) -> Estimate:
    """The first number minus the second, which is taken from `against` where that is given."""
    if _is_of_counts(source, against, first, second):
        return contrast.difference(source, first, second, kind=kind, confidence=confidence)
    one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
    low, high = dependence.joined(one, other.times(-1))
    value = one.value - other.value
    name = f"{_title(one, other)}: {one.name} minus {other.name}"
    return _estimate(name, value, (value - low, value + high), dependence, one, other, kind, confidence)


def ratio(
    source: Source,
    first: Where,
    second: Where,
    *,
    against: Release | None = None,
    kind: str = "population",
    confidence: float = 0.95,
    samples: str = "overlapping",
) -> Estimate:
    """The first number over the second; ends are infinite where the second may be zero."""
    if _is_of_counts(source, against, first, second):
        return quotient.ratio(source, first, second, kind=kind, confidence=confidence)
    one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
    return _ratio(one, other, dependence, f"{_title(one, other)}: {one.name} over {other.name}", kind, confidence)


def change(
    source: Source,
    first: Where,
    second: Where,
    *,
    against: Release | None = None,
    kind: str = "population",
    confidence: float = 0.95,
    samples: str = "overlapping",
) -> Estimate:
    """By how many per cent the second number, which is taken from `against` where that is given, exceeds the first."""
    if _is_of_counts(source, against, first, second):
        name = f"change from {describe(first)} to {describe(second)}, per cent"
        made = replace(quotient.ratio(source, second, first, kind=kind, confidence=confidence), name=name)
    else:
        one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
        name = f"{_title(one, other)}: change from {one.name} to {other.name}, per cent"
        made = _ratio(other, one, dependence, name, kind, confidence)
    assert made.interval is not None
    low, high = (100 * (end - 1) for end in (made.interval.lower, made.interval.upper))
    return replace(
        made,
        value=100 * (made.value - 1),
        std_error=100 * made.std_error,
        interval=replace(made.interval, lower=low, upper=high),
    )


Comparison = Callable[..., Estimate]


def each_pair(
    ask: Comparison,
    source: Source,
    by: str,
    first: Where,
    second: Where,
    *,
    against: Release | None,
    kind: str,
    confidence: float,
    samples: str,
) -> IntervalTable:
    """Every pair of labels of an axis, or each label in both releases, with intervals that hold together."""
    if by in {**first, **second}:
        raise ParameterError(f"{by!r} is compared label by label. Remove it from the cells, or remove `by`.", name="by")
    labels = _labels(source, by, {**first, by: ""})
    pairs = [(a, a) for a in labels] if against is not None else list(combinations(labels, 2))
    if not pairs:
        raise ParameterError(f"{by!r} has one label, and a comparison needs two.", name="by")
    # Pairs have numbers in common: errors are added (Bonferroni).
    level = 1 - (1 - checked(confidence)) / len(pairs)
    keywords = {"against": against, "kind": kind, "confidence": level, "samples": samples}
    made = [ask(source, {**first, by: a}, {**second, by: b}, **keywords) for a, b in pairs]
    ends = [each.interval for each in made if each.interval is not None]
    names = tuple(a if a == b else f"{a} | {b}" for a, b in pairs)
    notes = tuple(dict.fromkeys(note for each in made for note in each.assumptions))
    return IntervalTable(
        axes=(Axis(variable=by, labels=names),),
        values=np.array([each.value for each in made]),
        lower=np.array([each.lower for each in ends]),
        upper=np.array([each.upper for each in ends]),
        confidence=confidence,
        kind=checked_kind(kind),
        method=ends[0].method,
        is_simultaneous=True,
        notes=notes,
    )


def released_number(
    release: Release, where: Where, *, kind: str = "population", confidence: float = 0.95
) -> ReleasedNumber:
    """The number that a selection of cells names: sums of counts, or one cell of anything else."""
    checked(confidence)
    has_sampling = checked_kind(kind) is Kind.NOISE_AND_SAMPLING
    kinds = ("population", "parameter") if has_sampling else ("population",)
    table = _table(release, where)
    owner = release.owner(table)
    if _is_counted(owner, table):
        made = [signed_total(owner, where, kind=each, confidence=confidence) for each in kinds]
        value, errors = made[0].value, [each.std_error for each in made]
        ends = [(each.interval.lower, each.interval.upper) for each in made if each.interval is not None]
        place = -1
    else:
        place = _place(table, where)
        value = float(table.values[place])
        both = (table.std_error, table.std_error_with_sampling) if has_sampling else (table.std_error,)
        errors = [float(np.broadcast_to(each, table.values.shape)[place]) for each in both]
        names = tuple(axis.name for axis in table.space.axes)
        tables = [_intervals(owner, names, each, confidence) for each in kinds]
        ends = [(float(each.lower[place]), float(each.upper[place])) for each in tables]
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
    )


@lru_cache(maxsize=8)
def _intervals(release: Release, names: tuple[str, ...], kind: str, confidence: float) -> IntervalTable:
    """Of all cells at once; kept, because the numbers of many pairs are read one by one."""
    return intervals(release, *names, kind=kind, confidence=confidence)


def _pair(
    source: Source, first: Where, second: Where, against: Release | None, kind: str, confidence: float, samples: str
) -> tuple[ReleasedNumber, ReleasedNumber, Dependence]:
    check_among("samples", samples, SAMPLES)
    if not isinstance(source, Release):
        raise Unsupported("Numbers are compared within a release, or between two; combine several releases first.")
    other = source if against is None else against
    level = confidence
    laws = [release.owner(_table(release, where)).law for release, where in ((source, first), (other, second))]
    one = released_number(source, first, kind=kind, confidence=level)
    two = released_number(other, second, kind=kind, confidence=level)
    is_added = any(is_certified(law) for law in laws) or _is_coarse(one) or _is_coarse(two)
    if is_added:
        level = (1 + confidence) / 2
        one = released_number(source, first, kind=kind, confidence=level)
        two = released_number(other, second, kind=kind, confidence=level)
    if source.provenance.version != other.provenance.version:
        one, two = (replace(each, name=f"{each.name} ({each.release.provenance.version})") for each in (one, two))
    noise = _noise_correlation(one, two)
    has_same_rows = kind == "parameter" and _has_same_rows(one, two, samples)
    return one, two, Dependence(noise=noise, has_same_rows=has_same_rows, is_added=is_added)


def _is_coarse(number: ReleasedNumber) -> bool:
    """Whether a measured number moves by a few steps of its noise, so that arms are no multiples of an error."""
    own = (block.law for block in number.release.blocks if block.name == number.table.name)
    law = next((law for law in (number.release.law, *own) if isinstance(law, Additive)), None)
    step = 1.0 if law is None else float(law.step)
    is_measured = law is not None or _is_counted(number.release, number.table)
    return is_measured and number.std_errors[0] < _FEW_STEPS * step


def _noise_correlation(one: ReleasedNumber, two: ReleasedNumber) -> float:
    """The largest correlation that the noise of two numbers can have, to either sign."""
    entries = [number.release.provenance.ledger_entry for number in (one, two)]
    if one.release is not two.release and (not entries[0] or entries[0] != entries[1]):
        return 0.0
    law = one.release.law
    if one.release is not two.release or -1 in (one.place, two.place):
        return 1.0
    if isinstance(law, Joint) and is_list_of_estimates(law):
        names = [table.name for table in one.release.tables]
        tables = [names.index(number.table.name) for number in (one, two)]
        return correlation_bound(law, (tables[0], one.place), (tables[1], two.place))
    is_cell = (is_estimate(law) or isinstance(law, Additive)) and one.table is two.table and one.place != two.place
    points = len(one.table.space.axes[-1]) if curves_of(law, one.table.space.size) is not None else 1
    return 0.0 if is_cell and one.place // points != two.place // points else 1.0


def _has_same_rows(one: ReleasedNumber, two: ReleasedNumber, samples: str) -> bool:
    """Whether a record may count in both numbers."""
    first, second = one.release.provenance, two.release.provenance
    if first.population != second.population:
        return False
    if (first.dataset, first.version) != (second.dataset, second.version):
        return samples == "overlapping"
    if max(drawn_as(number.release).rows for number in (one, two)) > 1:
        return True
    common = set(one.where) & set(two.where)
    return all(_written(one.where[name]) & _written(two.where[name]) for name in common) if common else True


def _written(labels: str | Sequence[str]) -> set[str]:
    return {labels} if isinstance(labels, str) else set(labels)


def _ratio(
    above: ReleasedNumber, below: ReleasedNumber, dependence: Dependence, name: str, kind: str, confidence: float
) -> Estimate:
    def accepts(angle: float) -> bool:
        # first - r second, times a positive number, so that r may be infinite.
        up, down = above.times(float(np.cos(angle))), below.times(-float(np.sin(angle)))
        low, high = dependence.joined(up, down)
        return -high <= up.value + down.value <= low

    if below.value == 0:
        value, ends = nan, (-inf, inf)
    else:
        value = above.value / below.value
        low, high = quotient.accepted_angles(accepts, float(np.arctan(value)), -np.pi / 2)
        edge = np.pi / 2 - 1e-9
        ends = (-inf if low <= -edge else tan(low), inf if high >= edge else tan(high))
    made = _estimate(name, value, ends, dependence, above, below, kind, confidence)
    slope = 1 / below.value if below.value else nan
    spread = dependence.std_error(above.times(slope), below.times(-value * slope)) if below.value else nan
    return replace(made, std_error=spread)


def _estimate(
    name: str,
    value: float,
    ends: tuple[float, float],
    dependence: Dependence,
    one: ReleasedNumber,
    two: ReleasedNumber,
    kind: str,
    confidence: float,
) -> Estimate:
    noise, rows = dependence.words
    how = (
        "ends of both intervals, each with half of the error"
        if dependence.is_added
        else "joined arms of both intervals"
    )
    return Estimate(
        name=name,
        value=value,
        std_error=dependence.std_error(one, two),
        interval=Interval(lower=ends[0], upper=ends[1], confidence=confidence, kind=checked_kind(kind), method=how),
        assumptions=(noise, *((rows,) if kind == "parameter" else ())),
    )


def _is_of_counts(source: Source, against: Release | None, first: Where, second: Where) -> bool:
    """Whether both are sums of counts of one release, whose difference has an exact law."""
    if against is not None:
        return False
    if not isinstance(source, Release):
        return True
    tables = [_table(source, where) for where in (first, second)]
    return all(_is_counted(source.owner(table), table) for table in tables)


def _table(release: Release, where: Where) -> Table:
    """The smallest shown table that has the named axes."""
    whole = next((table for table in release.tables if not table.space.axes), None)
    return find_table(release, tuple(where)) if where or whole is None else whole


def _is_counted(release: Release, table: Table) -> bool:
    is_made = is_estimate(release.law) or is_list_of_estimates(release.law)
    return table.measure == "count" and not release.about.weight and not is_made


def _place(table: Table, where: Where) -> int:
    """The position of the one cell that a selection names."""
    names = [axis.name for axis in table.space.axes]
    missing = [name for name in names if name not in where]
    several = [name for name, labels in where.items() if len(_written(labels)) != 1]
    if missing or several:
        what = f"a label of {', '.join(missing)}" if missing else f"one label of {', '.join(several)}"
        raise Unsupported(f"A {table.measure} does not add up over cells. Name {what}.", received=describe(where))
    place = 0
    for axis in table.space.axes:
        (label,) = _written(where[axis.name])
        if label not in axis.labels:
            raise UnknownName.among(f"label of {axis.name!r}", label, axis.labels)
        place = place * len(axis) + axis.labels.index(label)
    return place


def _labels(source: Source, by: str, where: Mapping[str, object]) -> tuple[str, ...]:
    if not isinstance(source, Release):
        raise Unsupported("Numbers are compared within a release, or between two; combine several releases first.")
    table = find_table(source, tuple(where))
    return next(axis.labels for axis in table.space.axes if axis.name == by)


def _title(one: ReleasedNumber, two: ReleasedNumber) -> str:
    subjects = [number.release.about for number in (one, two)]
    words = [f"{about.measure} of {about.of}" if about.of else about.measure for about in subjects]
    return words[0] if words[0] == words[1] else " and ".join(words)
