"""Addresses of the builder: every state is a URL, and every URL is a state.

    rows=sex&columns=region&level.region=state&pick.sex=Female&where.age=18-29&measure=total:income&epsilon=0.5

An address is read leniently: what is unknown is left out and named in `problems`, so that an old bookmark still opens.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.rationals import plain
from dalenius.errors import DocumentError
from dalenius.limits import FORM
from dalenius.server.pages.state import (
    ACCURACY,
    AMOUNTS,
    ENDS,
    OWN_GROUPS,
    PLACES,
    AxisChoice,
    TableState,
    known_errors,
    suggested_cuts,
)
from dalenius.server.pages.wording import Numbers
from dalenius.server.views import DatasetView, VariableView
from dalenius.spec.axis import COMPLETE, OWN
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.method import FieldKind, FormField, find_method, form_fields, takes_categories, takes_weight
from dalenius.spec.request import definition_of


def from_request(request: Mapping[str, Any], dataset: DatasetView) -> TableState:
    """The state that builds a request document, as far as the builder can show it."""
    table, privacy = request.get("table", {}), request.get("privacy", {})
    if not isinstance(table, Mapping):
        raise DocumentError("The builder shows one table; this is a batch of several.", received="batch")
    where, ranges = {}, {}
    for name, condition in table.get("where", {}).items():
        if isinstance(condition, Mapping):
            low, high = ("" if condition.get(key) is None else str(condition[key]) for key in ("at_least", "at_most"))
            ranges[name] = (low, high)
        else:
            where[name] = tuple(map(str, [condition] if isinstance(condition, str) else condition))
    measure = str(table.get("measure") or DEFAULT_MEASURE)
    stated = {key: table.get(key, field.usual) for key, field in form_fields(measure).items()}
    stated |= {key: tuple(str(v.get(end) or "") for end in ENDS) for key, v in stated.items() if isinstance(v, Mapping)}
    parts: dict[str, Any] = {place: tuple(map(AxisChoice.of_item, table.get(place, ()))) for place in PLACES}
    parts |= {key: str(table.get(key) or "") for key in ("of", "weight", "universe", "error")}
    state = TableState(
        **parts,
        where=where,
        ranges=ranges,
        measure=measure,
        keys={key: tuple(map(str, v if isinstance(v, list | tuple) else [v])) for key, v in stated.items()},
        margins=table.get("margins", "none") != "none",
        definition=str(privacy.get("definition") or ""),
        amounts={key: str(privacy.get(key) or "") for key in AMOUNTS},
        title=str(request.get("title", "")),
    )
    return read_pairs(state.to_pairs(), dataset)


def read_pairs(pairs: Iterable[tuple[str, str]], dataset: DatasetView) -> TableState:
    """The state that fields of an address or of the builder's form stand for."""
    fields: dict[str, list[str]] = {}
    for number, (key, value) in enumerate(pairs):
        if number >= (FORM.items or 0):
            break
        if value.strip() and "\x00" not in value:
            fields.setdefault(key, []).append(value)
    defaults = dataset.defaults
    reader = _AddressReader(fields, dataset)
    placed = {place: reader.axes(place) for place in PLACES}
    where, ranges = reader.conditions()
    measure, of = reader.measure()
    amounts = {name: reader.number(name) for name in AMOUNTS if reader.one(name)}
    if ACCURACY in amounts:
        # An amount follows from it; a form sends both.
        amounts = {name: amounts[name] for name in (ACCURACY, "delta") if name in amounts}
    is_amount = len(amounts) == 1 and ACCURACY not in amounts
    definition = reader.one("definition") or (definition_of(amounts) if is_amount else defaults["definition"])
    if not amounts:
        amounts = {name: defaults[name] for name in AMOUNTS if defaults.get(name)}
    return TableState(
        **placed,
        where=where,
        ranges=ranges,
        measure=measure,
        of=of,
        weight=reader.weight(measure),
        keys=reader.keys(measure, of),
        margins=reader.one("margins") == "all",
        universe=reader.one("universe") if reader.one("universe") in (COMPLETE, OWN) else "",
        error=reader.one("error") if reader.one("error") in known_errors(measure) else "",
        definition=definition,
        amounts=amounts,
        title=reader.one("title")[:300],
        problems=tuple(reader.problems),
    )


class _AddressReader:
    """Reads fields against what was declared and remembers what it could not use."""

    def __init__(self, fields: Mapping[str, list[str]], dataset: DatasetView) -> None:
        self._fields = fields
        self._dataset = dataset
        self._numbers = Numbers(self.one("written") or "en")
        self._seen: set[str] = set()
        self.problems: list[str] = []

    def one(self, key: str) -> str:
        return self._fields.get(key, [""])[-1].strip()

    def number(self, key: str) -> str:
        """A number as documents write it. A form says in which language it was typed; an address has decimal points."""
        return self._numbers.read(self.one(key))

    def axes(self, place: str) -> tuple[AxisChoice, ...]:
        """Variables on one place; a variable that is unknown or stands elsewhere is left out."""
        choices = []
        for name in self._fields.get(place, []):
            variable = self._dataset.variable(name)
            if variable is None:
                self.problems.append(name[:80])
            elif name not in self._seen:
                self._seen.add(name)
                choices.append(self._axis(variable))
        return tuple(choices)

    def _axis(self, variable: VariableView) -> AxisChoice:
        name = variable.name
        if variable.is_numeric:
            cuts = self._cuts(self.one(f"cuts.{name}"))
            is_closed = bool(cuts) and self.one(f"closed.{name}") == "1"
            return AxisChoice(variable=name, cuts=cuts or suggested_cuts(variable), is_closed=is_closed)
        labels = variable.categories
        chosen = self.one(f"level.{name}")
        if chosen == OWN_GROUPS:
            return AxisChoice(variable=name, level=chosen, groups=self._groups(name, labels))
        if chosen in {level.name for level in variable.levels}:
            return AxisChoice(variable=name, level=chosen)
        picks = set(self._fields.get(f"pick.{name}", []))
        kept = tuple(label for label in labels if label in picks)
        return AxisChoice(variable=name, picks=kept if len(kept) < len(labels) else ())

    def _cuts(self, text: str) -> tuple[str, ...]:
        """Class limits between commas, or between semicolons where a comma may be decimal."""
        parts = text.split(";") if ";" in text else text.split(",")
        return tuple(self._numbers.read(part) for part in parts if part.strip())

    def _groups(self, name: str, labels: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        groups: dict[str, list[str]] = {}
        for text in self._fields.get(f"group.{name}", []):
            group, _, member = text.partition("|")
            if member in labels and group.strip():
                groups.setdefault(group.strip(), []).append(member)
        for position, label in enumerate(labels):
            group = self.one(f"group.{name}.{position}").replace("|", "/")
            if group:
                groups.setdefault(group, []).append(label)
        return tuple((group, tuple(dict.fromkeys(members))) for group, members in groups.items())

    def conditions(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, str]]]:
        where: dict[str, tuple[str, ...]] = {}
        ranges: dict[str, tuple[str, str]] = {}
        for variable in self._dataset.variables:
            name = variable.name
            if variable.is_numeric:
                ends = self.number(f"from.{name}"), self.number(f"to.{name}")
                if any(ends):
                    ranges[name] = ends
                continue
            wanted = set(self._fields.get(f"where.{name}", []))
            kept = tuple(label for label in variable.categories if label in wanted)
            # All of them is a condition too: it leaves out the records that have none of them.
            if kept and name not in self._seen:
                where[name] = kept
        return where, ranges

    def measure(self) -> tuple[str, str]:
        measure, _, of = self.one("measure").partition(":")
        if measure in self._dataset.measures:
            if not find_method(measure).takes_of:
                return measure, ""
            variable = self._dataset.variable(of)
            if variable is not None and variable.is_numeric is not takes_categories(measure):
                return measure, of
        if measure not in ("", DEFAULT_MEASURE):
            self.problems.append(f"{measure}:{of}"[:80])
        return DEFAULT_MEASURE, ""

    def weight(self, measure: str) -> str:
        """By what rows count, where the measure takes a weight and the data set has it."""
        weight = self.one("weight")
        if weight in self._dataset.weights and takes_weight(measure):
            return weight
        if weight:
            self.problems.append(f"weight={weight}"[:80])
        return ""

    def keys(self, measure: str, of: str) -> dict[str, tuple[str, ...]]:
        """The measure's own keys as a form filled them in; what is missing or unknown says what is usual."""
        fields = form_fields(measure)
        # Whoever filled in one key left the others empty on purpose.
        is_fresh = not any(f"key.{name}{end}" in self._fields for name in fields for end in ("", ".from", ".to"))
        return {name: self._key(f"key.{name}", asked, of, is_fresh) for name, asked in fields.items()}

    def _proposed(self, asked: FormField, of: str) -> str:
        """What the form proposes by itself, or by the declared bounds of the variable, on their grid."""
        variable = self._dataset.variable(of)
        if asked.part is None or variable is None or variable.bounds is None:
            return asked.first
        step = Fraction(variable.step or "1")
        low, high = (Fraction(end) for end in variable.bounds)
        wide = asked.part * (high - low) // step * step
        return plain(max(wide, step) if asked.is_needed else low + wide)

    def _key(self, name: str, asked: FormField, of: str, is_fresh: bool) -> tuple[str, ...]:
        variable = self._dataset.variable(of)
        if asked.kind in (FieldKind.NUMBER, FieldKind.WHOLE):
            is_proposed = is_fresh or asked.is_needed
            return (self.number(name) or (self._proposed(asked, of) if is_proposed else asked.usual),)
        if asked.kind is FieldKind.NUMBERS:
            parts = [part for text in self._fields.get(name, ()) for part in re.split(r"[;\s]+", text) if part]
            listed = tuple(self._numbers.read(part) for part in parts)
            return listed or (self._proposed(asked, of),)
        if asked.kind is FieldKind.ENDS:
            ends = tuple(self._numbers.read(end) for end in self._fields.get(name, ()))
            return ends if len(ends) == 2 else (variable and variable.bounds) or ("", "")
        if asked.kind is FieldKind.BETWEEN:
            ends = self.number(f"{name}.from"), self.number(f"{name}.to")
            return ends if any(ends) else (variable and variable.bounds) or ("", "")
        if asked.kind is FieldKind.CHOICE:
            return (self.one(name) if self.one(name) in asked.choices else asked.first,)
        if asked.kind is FieldKind.VARIABLE:
            others = [v.name for v in self._dataset.variables if v.is_numeric and v.name != of]
            return (self.one(name),) if self.one(name) in others else tuple(others[:1])
        if asked.kind is FieldKind.VARIABLES:
            wanted = set(self._fields.get(name, []))
            return tuple(v.name for v in self._dataset.variables if v.is_numeric and v.name in wanted - {of})
        labels = variable.categories if variable else ()
        wanted = set(self._fields.get(name, []))
        return tuple(label for label in labels if label in wanted) or labels[:1]
