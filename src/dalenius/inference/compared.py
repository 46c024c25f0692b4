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

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import cleandoc
from itertools import combinations, islice
from math import inf, nan, tan
from types import MappingProxyType
from typing import Any, Protocol, cast, overload

import numpy as np

from dalenius.algebra.estimates import is_certified
from dalenius.core.domain import Axis
from dalenius.core.estimate import Estimate, Interval, short
from dalenius.core.release import Release
from dalenius.errors import ParameterError, TooLarge, Unsupported
from dalenius.inference import contrast, quotient
from dalenius.inference.contrast import Where, describe
from dalenius.inference.dependence import Dependence, exact_laws, has_same_rows, is_coarse, noise_correlation
from dalenius.inference.interval import NOISE_LAW, check_among, checked, checked_kind, holm, p_values
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observation import find_table
from dalenius.inference.observe import Source
from dalenius.inference.released_number import ReleasedNumber, is_counted, named_table, released_number

SAMPLES = ("overlapping", "independent")
MOST_PAIRS = 5_000
"""Comparisons that are made at once."""


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


HOLM = (
    "p-values are of equal numbers, adjusted for all comparisons by Holm's steps: where p is at most {0}, two numbers "
    "differ, with at most {0} chance of any wrong one. Intervals hold together by Bonferroni's level, which asks for "
    "more: they may hold equality where p does not."
)
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
    laws, value = exact_laws(one, other), one.value - other.value
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
    """Every pair of labels of an axis, or each label in both releases, with intervals and tests that hold together."""
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
    keywords: dict[str, Any] = {"against": against, "kind": kind, "samples": samples}
    cells = [({**first, by: a}, {**second, by: b}) for a, b in pairs]

    def is_left_out(place: int, error: float) -> bool:
        interval = difference(source, *cells[place], confidence=1 - error, **keywords).interval
        return interval is not None and 0 not in interval

    # Pairs have numbers in common: errors are added (Bonferroni), and steps are Holm's, which hold so too.
    error = 1 - checked(confidence)
    made = [ask(source, *pair, confidence=1 - error / len(pairs), **keywords) for pair in cells]
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
        notes=(HOLM.format(short(error)), *notes),
        p_values=holm(p_values(is_left_out, len(pairs), near=error / len(pairs))),
    )


def _pair(
    source: Source, first: Where, second: Where, against: Release | None, kind: str, confidence: float, samples: str
) -> tuple[ReleasedNumber, ReleasedNumber, Dependence]:
    check_among("samples", samples, SAMPLES)
    if not isinstance(source, Release):
        raise Unsupported("Numbers are compared within a release, or between two; combine several releases first.")
    other = source if against is None else against
    level = confidence
    laws = [release.owner(named_table(release, where)).law for release, where in ((source, first), (other, second))]
    one = released_number(source, first, kind=kind, confidence=level)
    two = released_number(other, second, kind=kind, confidence=level)
    is_exact = exact_laws(one, two) is not None
    is_added = any(is_certified(law) for law in laws) or is_coarse(one, kind) or is_coarse(two, kind)
    if is_added and not is_exact:
        level = (1 + confidence) / 2
        one = released_number(source, first, kind=kind, confidence=level)
        two = released_number(other, second, kind=kind, confidence=level)
    if source.provenance.version != other.provenance.version:
        one, two = (replace(each, name=f"{each.name} ({each.release.provenance.version})") for each in (one, two))
    noise = noise_correlation(one, two)
    is_shared = kind == "parameter" and has_same_rows(one, two, samples)
    dependence = Dependence(noise=noise, has_same_rows=is_shared, confidence=confidence, is_added=is_added)
    return one, two, dependence


def _ratio(
    above: ReleasedNumber, below: ReleasedNumber, dependence: Dependence, name: str, kind: str, confidence: float
) -> Estimate:
    def accepts(angle: float) -> bool:
        # first - r second, times a positive number, so that r may be infinite.
        up, down = above.times(float(np.cos(angle))), below.times(-float(np.sin(angle)))
        low, high = dependence.joined(up, down)
        return -high <= up.value + down.value <= low

    laws = exact_laws(above, below)
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
        if exact_laws(one, two) is not None
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
    tables = [named_table(source, where) for where in (first, second)]
    return all(is_counted(source.owner(table), table) for table in tables)


def _labels(source: Source, by: str, where: Mapping[str, object]) -> tuple[str, ...]:
    if not isinstance(source, Release):
        raise Unsupported("Numbers are compared within a release, or between two; combine several releases first.")
    table = find_table(source, tuple(where))
    return next(axis.labels for axis in table.space.axes if axis.name == by)


def _subject(source: Source, against: Release | None) -> str:
    subjects = [release.about for release in (source, against) if isinstance(release, Release)]
    words = [f"{about.measure} of {about.of}" if about.of else about.measure for about in subjects]
    return " and ".join(dict.fromkeys(words))
