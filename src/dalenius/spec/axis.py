"""Axes and conditions of a request, resolved against a declared domain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, prod
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, Domain, Variable
from dalenius.core.rationals import plain
from dalenius.errors import DocumentError, ParameterError, TooLarge, UnknownName
from dalenius.limits import RANGES
from dalenius.spec.document import Category, Exact, Name, Part, Whole, flag

MOST_ZEROS = 5_000_000
MOST_CLASSES = 10_000
COMPLETE, OWN = "complete", "own"
"""Whose records a list of margins counts: those with a value on every axis, or all of them."""
REST = "other or not stated"
"""The label of the rows that no other label of an axis holds."""


Range = tuple[Category, Category]
RangesOf = Literal["all", "prefixes"] | Whole | tuple[Range, ...]


def _few(ranges: object) -> object:
    """Refuse a list of more ranges or boxes than are planned, before each of them is looked at."""
    lists = [ranges, *ranges.values()] if isinstance(ranges, Mapping) else [ranges]
    for listed in lists:
        if isinstance(listed, list | tuple | Mapping) and len(listed) > RANGES:
            raise TooLarge(
                f'`ranges` lists at most {RANGES:,} ranges or boxes; received {len(listed):,}. "all" and "prefixes" '
                "need no list.",
                received=len(listed),
                limit=RANGES,
            )
    return ranges


Ranges = Annotated[dict[Name, RangesOf] | tuple[dict[Name, Range], ...], BeforeValidator(_few)]
"""Ranges of axes: which of each axis, or boxes."""


class AxisPart(Part, section="an axis"):
    """An axis over a part of a variable: a level, categories, groups, cuts, or classes of one width."""

    variable: Name
    level: Name | None = None
    categories: tuple[Category, ...] | None = Field(default=None, min_length=1)
    groups: dict[Name, tuple[Category, ...]] | None = Field(default=None, min_length=1)
    cuts: tuple[Exact, ...] | None = Field(default=None, min_length=1)
    width: Exact | None = Field(default=None, gt=0)
    closed: bool = flag("Leave out what lies beyond the first and the last of the cuts.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [n for n in ("level", "categories", "groups", "cuts", "width") if getattr(self, n) is not None]
        if len(ways) > 1:
            raise DocumentError(f"An axis takes one of level, categories, groups, cuts and width; received {ways}.")
        if self.closed and self.cuts is None:
            received = f"with `{ways[0]}`" if ways else "alone"
            raise DocumentError(f"`closed` belongs to `cuts`; received it {received}. Remove `closed`, or use `cuts`.")
        if self.closed and self.cuts is not None and len(self.cuts) < 2:
            raise DocumentError(
                f"`closed` classes need two `cuts`; received {[plain(cut) for cut in self.cuts]}. Give a second one,"
                " or remove `closed`."
            )
        return self


class ConditionPart(Part, section="a condition"):
    """A condition on a numeric variable (both ends included), or on groups of a declared level."""

    at_least: Exact | None = None
    at_most: Exact | None = None
    level: Name | None = None
    groups: tuple[Category, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        numeric = self.at_least is not None or self.at_most is not None
        grouped = self.level is not None and self.groups is not None
        if numeric == grouped or (self.level is None) != (self.groups is None):
            raise DocumentError("A condition says at_least and/or at_most, or level and groups.")
        return self


Condition = Category | tuple[Category, ...] | ConditionPart


def axis_of(item: str | AxisPart, domain: Domain, where: Mapping[str, Condition] = MappingProxyType({})) -> Axis:
    """The axis that an item of a request stands for; classes are not opened to values that `where` excludes."""
    part = AxisPart(variable=item) if isinstance(item, str) else item
    variable = domain.variable(part.variable)
    if part.cuts is not None:
        _check_cuts(variable, part.cuts)
        if part.closed:
            return _classes(variable, part.cuts)
        name = variable.name
        condition = condition_filter(name, where[name], domain) if name in where else Filter(variable=name)
        return _classes(variable, _open_ended(variable, part.cuts, condition))
    if part.width is not None:
        *starts, end = _every(variable, part.width)
        _check_cuts(variable, starts)
        return _classes(variable, [*starts, end])
    if variable.is_numeric:
        raise ParameterError(
            f"{variable.name!r} is numeric; on an axis it needs classes, such as"
            f' {{ variable = "{variable.name}", cuts = [{_some_cuts(variable)}] }}.',
            received=variable.name,
        )
    categories = variable.categories
    if part.level is not None:
        hierarchy = variable.hierarchy(part.level)
        return Axis(variable=variable.name, labels=hierarchy.groups, codes=hierarchy.parent, level=hierarchy.level)
    if part.groups is not None:
        return Axis(
            variable=variable.name, labels=tuple(part.groups), codes=_members(variable, list(part.groups.values()))
        )
    if part.categories is not None:
        labels = tuple(categories.labels[_code(variable, label)] for label in part.categories)
        return Axis(variable=variable.name, labels=labels, codes=_members(variable, [(x,) for x in labels]))
    return Axis(variable=variable.name, labels=categories.labels, codes=tuple(range(len(categories))))


def with_rest(domain: Domain) -> Callable[[Axis], Axis]:
    """Axes on which every row has a place: where one can leave rows out, a last label holds them."""

    def widened(axis: Axis) -> Axis:
        if domain.variable(axis.variable).keeps_every_row(axis):
            return axis
        if REST in axis.labels:
            raise DocumentError(
                f'{axis.variable!r} has a category {REST!r}, under which universe = "{OWN}" counts the records '
                "without a value.",
                received=axis.variable,
            )
        return replace(axis, labels=(*axis.labels, REST), has_rest=True)

    return widened


def _some_cuts(variable: Variable) -> str:
    """An example of cuts that would be accepted: both bounds, and the middle on the grid."""
    bounds = variable.bounds
    middle = (bounds.low + bounds.high) // 2 * bounds.step
    return ", ".join(plain(cut) for cut in sorted({bounds.lower, middle, bounds.upper}))


def _members(variable: Variable, groups: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    codes = [-1] * len(variable.categories)
    for index, members in enumerate(groups):
        if not members:
            raise DocumentError(f"A group of {variable.name!r} has no members.")
        for member in members:
            code = _code(variable, member)
            if codes[code] != -1:
                raise DocumentError(f"{member!r} stands twice on the axis {variable.name!r}.", received=member)
            codes[code] = index
    return tuple(codes)


def _code(variable: Variable, label: str) -> int:
    """Position of a category; a refusal says of which variable it is none."""
    try:
        return variable.categories.code(label)
    except UnknownName:
        raise UnknownName.among(f"category of {variable.name!r}", label, variable.categories.labels) from None


def _every(variable: Variable, width: Fraction) -> list[Fraction]:
    """Cuts from the lower bound to the upper one, each class as wide as asked; the last may be narrower."""
    bounds = variable.bounds
    count = max(1, ceil((bounds.upper - bounds.lower) / width))
    if count > MOST_CLASSES:
        raise TooLarge(
            f"Classes of width {plain(width)} would cut {variable.name!r} into {count:,} of them; at most "
            f"{MOST_CLASSES:,} are made.",
            limit=MOST_CLASSES,
        )
    return [*(bounds.lower + k * width for k in range(count)), bounds.upper]


def _open_ended(variable: Variable, cuts: Sequence[Fraction], condition: Filter) -> list[Fraction]:
    """Return the given cuts, with bounds beyond them that hold every value which a condition allows."""
    bounds = variable.bounds
    low = bounds.low if condition.low is None else max(bounds.low, condition.low)
    high = bounds.high if condition.high is None else condition.high
    is_open_below = cuts[0] > low * bounds.step
    is_open_above = cuts[-1] < bounds.upper and cuts[-1] <= high * bounds.step
    opened = [*([bounds.lower] if is_open_below else ()), *cuts, *([bounds.upper] if is_open_above else ())]
    return opened if len(opened) > 1 else [bounds.lower, bounds.upper]


def _check_cuts(variable: Variable, cuts: Sequence[Fraction]) -> None:
    """Raise `ParameterError` unless the cuts rise within the declared bounds, on the declared grid."""
    bounds = variable.bounds
    if any(left >= right for left, right in pairwise(cuts)):
        raise ParameterError(f"cuts of {variable.name!r} must rise; received {[plain(c) for c in cuts]}.")
    if cuts[0] < bounds.lower or cuts[-1] > bounds.upper:
        raise ParameterError(
            f"cuts of {variable.name!r} must lie within its bounds [{plain(bounds.lower)}, {plain(bounds.upper)}]."
        )
    if any((cut / bounds.step).denominator != 1 for cut in cuts):
        raise ParameterError(f"cuts of {variable.name!r} must be whole multiples of {plain(bounds.step)}.")


def _classes(variable: Variable, cuts: Sequence[Fraction]) -> Axis:
    """Return the axis of the classes between cuts; the last one includes the upper bound."""
    bounds = variable.bounds
    steps = [int(cut / bounds.step) for cut in cuts]
    texts = [plain(cut) for cut in cuts]
    labels = [f"[{a}, {b})" for a, b in pairwise(texts)]
    if cuts[-1] == bounds.upper:
        steps[-1] += 1
        labels[-1] = f"{labels[-1][:-1]}]"
    return Axis(variable=variable.name, labels=tuple(labels), cuts=tuple(steps))


def condition_filter(name: str, given: Condition, domain: Domain) -> Filter:
    variable = domain.variable(name)
    if not isinstance(given, ConditionPart):
        labels = (given,) if isinstance(given, str) else given
        if variable.is_numeric:
            raise ParameterError(
                f"{name!r} is numeric, so its condition is a range: {name} = {{ at_least = 1, at_most = 2 }}, with"
                f" either end left out at will; received {list(labels)}.",
                received=list(labels),
            )
        if not labels:
            raise DocumentError(f"The condition on {name!r} lists no category.")
        return Filter(variable=name, codes=tuple(sorted({_code(variable, label) for label in labels})))
    if given.level is None and not variable.is_numeric:
        shown = ", ".join(repr(label) for label in variable.categories.labels[:3])
        raise ParameterError(
            f"{name!r} has categories, so its condition lists some of them: {name} = [{shown}]; at_least and at_most"
            " are for numbers."
        )
    if given.level is not None and given.groups is not None:
        hierarchy = variable.hierarchy(given.level)
        for group in given.groups:
            UnknownName.check(f"group of {given.level!r}", group, hierarchy.groups)
        chosen = {hierarchy.groups.index(group) for group in given.groups}
        return Filter(variable=name, codes=tuple(c for c, p in enumerate(hierarchy.parent) if p in chosen))
    bounds = variable.bounds
    low = None if given.at_least is None else -(-given.at_least // bounds.step)
    high = None if given.at_most is None else given.at_most // bounds.step
    if low is not None and high is not None and low > high:
        raise ParameterError(f"The condition on {name!r} leaves no value: at_least is above at_most.")
    return Filter(variable=name, low=None if low is None else int(low), high=None if high is None else int(high))


def structural_zeros(space: CellSpace, filters: Sequence[Filter], domain: Domain) -> frozenset[tuple[int, ...]]:
    """Cells that a declared pattern covers whole, whatever the categories inside a cell are.

    A variable of the pattern that is neither on an axis nor fixed by a condition leaves the cell open.
    """
    zeros: set[tuple[int, ...]] = set()
    positions = {axis.variable: number for number, axis in enumerate(space.axes)}
    fixed = {f.variable: set(f.codes) for f in filters if f.codes}
    for pattern in domain.structural_zeros:
        choices: list[Sequence[int]] = [range(len(axis)) for axis in space.axes]
        for name, labels in pattern.items():
            codes = {domain.variable(name).categories.code(label) for label in labels}
            if name in fixed and fixed[name] <= codes:
                continue
            if name not in positions:
                break
            axis = space.axes[positions[name]]
            allowed = fixed.get(name)
            members: list[set[int]] = [set() for _ in axis.labels]
            for code, label in enumerate(axis.codes):
                if label >= 0 and (allowed is None or code in allowed):
                    members[label].add(code)
            choices[positions[name]] = [i for i, m in enumerate(members) if m and m <= codes]
        else:
            if prod(len(choice) for choice in choices) > MOST_ZEROS:
                raise TooLarge(f"More than {MOST_ZEROS:,} cells of this table are structural zeros; use fewer cells.")
            zeros.update(product(*choices))
    return frozenset(zeros)
