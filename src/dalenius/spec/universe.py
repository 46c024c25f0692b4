"""Whose records a table counts, from the request and the declarations alone.

A record without a declared value on an axis is in no cell, and neither is one with a value that the axis does not show.
A list of margins is measured inside one full cross, so that its tables agree: each of them leaves out the records that
lack a value on any axis, shown or not. That must be asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dalenius.core import registry
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Domain
from dalenius.core.rationals import plain
from dalenius.spec.axis import OWN, REST
from dalenius.spec.remembered import remembered
from dalenius.spec.request import RequestDocument
from dalenius.translation import translated

SENTENCES: Mapping[str, Mapping[str, str]] = translated(
    {
        "every": "Covers every record.",
        "conditions": "Covers every record that meets the conditions.",
        "needs": "Covers the records{conditions} with a declared value of {names}; records without one are left out.",
        "complete": "Every table covers only the records{conditions} with a declared value of {names}, whether it "
        "shows them or not.",
        "parts": "Covers the records{conditions} with {shown}; all others are left out.",
        "parts needs": "Covers the records{conditions} with {shown}, and with a declared value of {names}; all others "
        "are left out.",
        "complete parts": "Every table covers only the records{conditions} with {shown}, whether it shows them or not.",
        "complete parts needs": "Every table covers only the records{conditions} with {shown}, and with a declared "
        "value of {names}, whether it shows them or not.",
        "meeting": " that meet the conditions,",
        "own": 'Covers every record{conditions}; those without a shown value of {names} stand under "{rest}".',
        "own conditions": " that meets the conditions",
        "kept": 'Of the others, those without a shown value of {names} stand under "{rest}".',
        "undeclared": "Covers the units with a text of {names} that is not declared; all others are left out.",
        "and": " and ",
    }
)


# Of more categories than these the first ones are named, with how many there are.
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """The declared values that an axis shows where it does not show all: categories, or a range."""

    variable: str
    labels: tuple[str, ...] = ()
    declared: int = 0
    interval: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """Variables without a declared value of which a record is left out; `unshown` are those that some table does not
    show, `widened` those without a shown value of which it has a label of its own, `parts` those of which the axis
    shows a part.

    Where `is_undeclared`, they are those of which only texts that are not declared count.
    """

    needs: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    parts: tuple[ShownPart, ...] = ()
    has_conditions: bool = False
    is_undeclared: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(part.variable for part in self.parts), *self.needs, *self.widened)))

    def sentence(
        self,
        labels: Mapping[str, str] | None = None,
        language: str = "en",
        say: Callable[[str, str], str] = lambda _, label: label,
    ) -> str:
        """One sentence for readers; `labels` are names of variables for them, `say` gives the words of a category."""
        words = SENTENCES[language if language in SENTENCES else "en"]
        own = ""
        if self.widened:
            own = words["own"].format(
                names=_listed(self.widened, labels, words),
                conditions=words["own conditions"] if self.has_conditions else "",
                rest=REST,
            )
        if not self.needs and not self.parts:
            return own or words["conditions" if self.has_conditions else "every"]
        kind = f"parts{' needs' if self.needs else ''}" if self.parts else "needs"
        if self.unshown:
            kind = f"complete {kind}" if self.parts else "complete"
        lost = words["undeclared" if self.is_undeclared else kind].format(
            names=_listed(self.needs, labels, words) if self.needs else "",
            shown="; ".join(_shown(part, labels, say) for part in self.parts),
            conditions=words["meeting"] if self.has_conditions else "",
        )
        if not self.widened:
            return lost
        widened = words["kept"].format(names=_listed(self.widened, labels, words), rest=REST)
        return f"{lost} {widened}"


def _shown(part: ShownPart, labels: Mapping[str, str] | None, say: Callable[[str, str], str]) -> str:
    """What is shown of a variable: "Age: [20, 65)", "Region: North, South"."""
    name = str((labels or {}).get(part.variable) or part.variable)
    if part.interval:
        return f"{name}: {part.interval}"
    texts = [say(part.variable, label) for label in part.labels[:_MOST_NAMED]]
    more = f", … ({len(part.labels)}/{part.declared})" if len(part.labels) > _MOST_NAMED else ""
    return f"{name}: {', '.join(texts)}{more}"


def _listed(variables: Sequence[str], labels: Mapping[str, str] | None, words: Mapping[str, str]) -> str:
    """Names for readers, with a word before the last."""
    names = [str((labels or {}).get(name) or name) for name in variables]
    return ", ".join(names[:-1]) + (words["and"] if len(names) > 1 else "") + names[-1]


@remembered
def universe_of(request: RequestDocument, domain: Domain) -> Universe:
    axes, filters = request.axes(domain), request.filters(domain)
    # Only the method that is asked for is loaded.
    is_known = request.method in registry.names("methods")
    if is_known and registry.get("methods", request.method).finds_labels:
        return Universe(needs=tuple(axis.variable for axis in axes), is_undeclared=True)
    losing = [axis for axis in axes if not _keeps_every_row(axis, filters, domain)]
    partial = [axis for axis in losing if not domain.variable(axis.variable).shows_every_value(axis)]
    needs = [axis.variable for axis in losing if axis not in partial]
    for name in (request.table.of, request.table.weight, *request.others):
        if name is not None and name not in needs:
            needs += [name] if domain.variable(name).may_drop else []
    margins = request.margins(domain)
    unshown = [axis.variable for axis in losing if margins is not None and _is_left_out(axis, margins)]
    widened = [axis.variable for axis in axes if axis.has_rest]
    return Universe(
        needs=tuple(needs),
        unshown=tuple(unshown),
        widened=tuple(widened),
        parts=tuple(_part(axis, domain) for axis in partial),
        has_conditions=bool(filters),
    )


def with_universe(request: RequestDocument, domain: Domain) -> RequestDocument:
    """Return the request with every record counted: where a margin would lose those without a shown value of another
    axis, they have a label of their own, unless the request says otherwise.
    """
    if request.table.universe is not None or not universe_of(request, domain).unshown:
        return request
    return request.model_copy(update={"table": request.table.model_copy(update={"universe": OWN})})


def _part(axis: Axis, domain: Domain) -> ShownPart:
    variable = domain.variable(axis.variable)
    if axis.cuts:
        step = variable.bounds.step
        is_closed = axis.cuts[-1] > variable.bounds.high
        low, high = plain(axis.cuts[0] * step), plain((axis.cuts[-1] - is_closed) * step)
        return ShownPart(variable=axis.variable, interval=f"[{low}, {high}{']' if is_closed else ')'}")
    declared = variable.categories.labels
    labels = tuple(label for label, code in zip(declared, axis.codes, strict=True) if code >= 0)
    return ShownPart(variable=axis.variable, labels=labels, declared=len(declared))


def _is_left_out(axis: Axis, margins: Sequence[tuple[str, ...]]) -> bool:
    own = (axis.name, axis.variable)
    return any(not any(name in own or name.startswith(f"{axis.variable}.") for name in margin) for margin in margins)


def _keeps_every_row(axis: Axis, filters: Sequence[Filter], domain: Domain) -> bool:
    """Whether no record that meets the conditions can fall outside an axis."""
    if domain.variable(axis.variable).keeps_every_row(axis):
        return True
    for condition in filters:
        if condition.variable != axis.variable:
            continue
        if axis.cuts:
            bounds = domain.variable(axis.variable).bounds
            low = bounds.low if condition.low is None else condition.low
            high = bounds.high if condition.high is None else condition.high
            if axis.cuts[0] <= low and high < axis.cuts[-1]:
                return True
        elif all(axis.codes[code] >= 0 for code in condition.codes):
            return True
    return False
