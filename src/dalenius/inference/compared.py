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
from functools import lru_cache, partial
from inspect import cleandoc
from itertools import combinations, islice
from math import hypot, inf, isnan, nan, sqrt, tan
from types import MappingProxyType
from typing import Any, Protocol, cast, overload

import numpy as np

from dalenius.algebra.estimates import curves_of, is_certified, is_estimate
from dalenius.algebra.intervals import reach
from dalenius.algebra.listed import correlation_bound, is_list_of_estimates
from dalenius.algebra.tabulation import estimate_of
from dalenius.core.domain import Axis
from dalenius.core.estimate import Estimate, Interval, Kind
from dalenius.core.law import Additive, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import ParameterError, TooLarge, UnknownName, Unsupported
from dalenius.inference import contrast, quotient
from dalenius.inference.cells import intervals
from dalenius.inference.contrast import Where, describe, law_of, signed_total
from dalenius.inference.drawn import drawn_as
from dalenius.inference.interval import NOISE_LAW, check_among, checked, checked_kind
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.noise import Noise
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
MOST_PAIRS = 5_000
"""Comparisons that are made at once."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What two numbers have in common: the largest correlation of their noise, and whether records count in both."""

    noise: float
    has_same_rows: bool
    confidence: float = 0.95
    is_added: bool = False
    """Whether ends are added whatever is known: of quantiles, and where noise is a few steps."""

    def joined(self, first: ReleasedNumber, second: ReleasedNumber) -> Arms:
        """How far the sum of two numbers reaches below and above it."""
        part = self._better_known(first, second)
        return part * self._side(first, second, 0), part * self._side(first, second, 1)

    def _better_known(self, first: ReleasedNumber, second: ReleasedNumber) -> float:
        """The part of the joined arms that is needed, as the sum of two variances is better known than each of them.

        Each number's arms allow for the noise in its own variance of sampling. Of independent numbers the two variances
        are added as they were measured, and the sum is one variance whose noise is known too.
        """
        own = np.array([[number.std_errors[0] ** 2, *number.spread] for number in (first, second)])
        if self.is_added or self.noise or self.has_same_rows or not np.isfinite(own).all() or not own[:, 2].any():
            return 1.0
        noise, sampling, uncertainty = np.vstack([own, own.sum(axis=0)]).T
        total = np.maximum(noise + np.maximum(sampling, 0.0), 1e-300)
        one, two, both = reach(self.confidence, total, fourth=np.zeros(3), uncertainty=uncertainty) * np.sqrt(total)
        return min(float(both / hypot(one, two)), 1.0)

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


class Comparison(Protocol):
    """A comparison of two numbers; with `by` of every pair of labels of an axis, or of each label in both releases.

    `first` and `second` are cells of the release. With `against` the second number is taken from that release, and from
    the cells of the first unless `second` names others. A release in the place of `first` is one to compare with:
    `difference(this, that, {"region": "north"})`.
    """

    @overload
    def __call__(
        self,
        source: Source,
        first: Where | Release = ...,
        second: Where = ...,
        *,
        against: Release | None = ...,
        by: None = ...,
        kind: str = ...,
        confidence: float = ...,
        samples: str = ...,
    ) -> Estimate: ...

    @overload
    def __call__(
        self,
        source: Source,
        first: Where | Release = ...,
        second: Where = ...,
        *,
        against: Release | None = ...,
        by: str,
        kind: str = ...,
        confidence: float = ...,
        samples: str = ...,
    ) -> IntervalTable: ...


MINUS, OVER, FROM_TO = "{} minus {}", "{} over {}", "change from {} to {}, per cent"
_ALL: Where = MappingProxyType({})


def _comparison(words: str) -> Callable[[Callable[..., Estimate]], Comparison]:
    """Makes a comparison of what compares two numbers; `words` join the names of both."""
    return partial(_made, words)


def _made(words: str, ask: Callable[..., Estimate]) -> Comparison:
    def compare(
        source: Source,
        first: Where | Release = _ALL,
        second: Where = _ALL,
        *,
        against: Release | None = None,
        by: str | None = None,
        kind: str = "population",
        confidence: float = 0.95,
        samples: str = "overlapping",
    ) -> Any:
        if isinstance(first, Release):
            cells, against = second, first
        else:
            cells = first
        other = second if second or against is None else cells
        keywords: dict[str, Any] = {"against": against, "kind": kind, "confidence": confidence, "samples": samples}
        if by:
            return _each_pair(ask, words, source, by, cells, other, **keywords)
        return ask(source, cells, other, **keywords)

    compare.__name__ = compare.__qualname__ = ask.__name__
    compare.__doc__ = f"{ask.__doc__}\n\n{cleandoc(Comparison.__doc__ or '')}"
    return cast(Comparison, compare)


@_comparison(MINUS)
def difference(
    source: Source, first: Where, second: Where, *, against: Release | None, kind: str, confidence: float, samples: str
) -> Estimate:
    """The first number minus the second."""
    if _is_of_counts(source, against, first, second):
        return contrast.difference(source, first, second, kind=kind, confidence=confidence)
    one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
    laws, value = _laws(one, other), one.value - other.value
    if laws is None:
        low, high = dependence.joined(one, other.times(-1))
    else:
        low = high = float(laws[0].plus(laws[1].reflected()).half_width(confidence))
    name = f"{_subject(source, against)}: {MINUS.format(one.name, other.name)}"
    return _estimate(name, value, (value - low, value + high), dependence, one, other, kind, confidence)


@_comparison(OVER)
def ratio(
    source: Source, first: Where, second: Where, *, against: Release | None, kind: str, confidence: float, samples: str
) -> Estimate:
    """The first number over the second; ends are infinite where the second may be zero."""
    if _is_of_counts(source, against, first, second):
        return quotient.ratio(source, first, second, kind=kind, confidence=confidence)
    one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
    name = f"{_subject(source, against)}: {OVER.format(one.name, other.name)}"
    return _ratio(one, other, dependence, name, kind, confidence)


@_comparison(FROM_TO)
def change(
    source: Source, first: Where, second: Where, *, against: Release | None, kind: str, confidence: float, samples: str
) -> Estimate:
    """By how many per cent the second number exceeds the first."""
    if _is_of_counts(source, against, first, second):
        name = FROM_TO.format(describe(first), describe(second))
        made = replace(quotient.ratio(source, second, first, kind=kind, confidence=confidence), name=name)
    else:
        one, other, dependence = _pair(source, first, second, against, kind, confidence, samples)
        name = f"{_subject(source, against)}: {FROM_TO.format(one.name, other.name)}"
        made = _ratio(other, one, dependence, name, kind, confidence)
    assert made.interval is not None
    low, high = (100 * (end - 1) for end in (made.interval.lower, made.interval.upper))
    return replace(
        made,
        value=100 * (made.value - 1),
        std_error=100 * made.std_error,
        interval=replace(made.interval, lower=low, upper=high),
    )


def _each_pair(
    ask: Callable[..., Estimate],
    words: str,
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
    pairs = [(a, a) for a in labels] if against is not None else list(islice(combinations(labels, 2), MOST_PAIRS + 1))
    if len(pairs) > MOST_PAIRS:
        raise TooLarge(
            f"At most {MOST_PAIRS:,} comparisons are made at once, and {by!r} has {len(labels):,} labels. Name "
            "pairs, or a coarser level.",
            limit=MOST_PAIRS,
        )
    if not pairs:
        raise ParameterError(f"{by!r} has one label, and a comparison needs two.", name="by")
    # Pairs have numbers in common: errors are added (Bonferroni).
    level = 1 - (1 - checked(confidence)) / len(pairs)
    keywords = {"against": against, "kind": kind, "confidence": level, "samples": samples}
    made = [ask(source, {**first, by: a}, {**second, by: b}, **keywords) for a, b in pairs]
    ends = [each.interval for each in made if each.interval is not None]
    names = tuple(a if a == b else f"{a} | {b}" for a, b in pairs)
    notes = tuple(dict.fromkeys(note for each in made for note in each.assumptions))
    subject, between = _subject(source, against), ("the first", "the second")
    if against is not None and isinstance(source, Release):
        between = (source.provenance.version, against.provenance.version)
    return IntervalTable(
        title=f"{subject}: {words.format(*between)}, by {by}",
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
    owner, spread, law = release.owner(table), (nan, nan), None
    if _is_counted(owner, table):
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
    is_exact = _laws(one, two) is not None
    is_added = any(is_certified(law) for law in laws) or _is_coarse(one, kind) or _is_coarse(two, kind)
    if is_added and not is_exact:
        level = (1 + confidence) / 2
        one = released_number(source, first, kind=kind, confidence=level)
        two = released_number(other, second, kind=kind, confidence=level)
    if source.provenance.version != other.provenance.version:
        one, two = (replace(each, name=f"{each.name} ({each.release.provenance.version})") for each in (one, two))
    noise = _noise_correlation(one, two)
    has_same_rows = kind == "parameter" and _has_same_rows(one, two, samples)
    dependence = Dependence(noise=noise, has_same_rows=has_same_rows, confidence=confidence, is_added=is_added)
    return one, two, dependence


def _laws(one: ReleasedNumber, two: ReleasedNumber) -> tuple[Noise, Noise] | None:
    """The exact laws of the noise of two counts of independent releases; None of other numbers."""
    if one.law is None or two.law is None or _noise_correlation(one, two):
        return None
    return one.law[1], two.law[1]


def _is_coarse(number: ReleasedNumber, kind: str) -> bool:
    """Whether a measured number moves by a few steps of its error, so that arms are no multiples of it."""
    own = (block.law for block in number.release.blocks if block.name == number.table.name)
    law = next((law for law in (number.release.law, *own) if isinstance(law, Additive)), None)
    step = 1.0 if law is None else float(law.step)
    is_measured = law is not None or _is_counted(number.release, number.table)
    return is_measured and number.std_errors[kind == "parameter"] < _FEW_STEPS * step


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

    laws = _laws(above, below)
    if below.value == 0:
        value, ends = nan, (-inf, inf)
    elif laws is not None and len(laws[0].pmf) * len(laws[1].pmf) <= quotient.MOST_PAIRS:
        value = above.value / below.value
        covariance = np.diag([error**2 for error in (above.std_errors[0], below.std_errors[0])])
        ends = quotient.fieller(above.value, below.value, covariance, laws, 0.0, confidence)
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
        NOISE_LAW
        if _laws(one, two) is not None
        else "ends of both intervals, each with half of the error"
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


def _subject(source: Source, against: Release | None) -> str:
    subjects = [release.about for release in (source, against) if isinstance(release, Release)]
    words = [f"{about.measure} of {about.of}" if about.of else about.measure for about in subjects]
    return " and ".join(dict.fromkeys(words))
