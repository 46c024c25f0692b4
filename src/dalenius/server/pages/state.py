"""The table being built: what stands where, what a button changes, and the request that it asks for.

Whether the request is allowed is the planner's business, not this module's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalenius.core import registry
from dalenius.core.estimate import Draws
from dalenius.core.neighbours import Scope
from dalenius.core.rationals import plain
from dalenius.core.release import Subject
from dalenius.server.views import DatasetView, VariableView
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.method import FieldKind, find_method, form_fields

PLACES = ("rows", "columns", "layers")
ACCURACY = "error_at_most"
AMOUNTS = ("epsilon", "delta", "rho", ACCURACY)
OWN_GROUPS = "*"
ENDS = ("at_least", "at_most")

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisChoice:
    """One variable on rows, columns or layers: all of it, a level, some categories, own groups, or cuts."""

    variable: str
    level: str = ""
    picks: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    cuts: tuple[str, ...] = ()
    is_closed: bool = False

    @classmethod
    def of_item(cls, item: str | Mapping[str, Any]) -> "AxisChoice":
        part: Mapping[str, Any] = {"variable": item} if isinstance(item, str) else item
        groups = part.get("groups") or {}
        return cls(
            variable=str(part["variable"]),
            level=OWN_GROUPS if groups else str(part.get("level") or ""),
            picks=tuple(map(str, part.get("categories") or ())),
            groups=tuple((name, tuple(members)) for name, members in groups.items()),
            cuts=tuple(map(str, part.get("cuts") or ())),
            is_closed=bool(part.get("closed")),
        )

    @property
    def name(self) -> str:
        """Its axis in a table: "variable.level" for a declared level."""
        return f"{self.variable}.{self.level}" if self.level not in ("", OWN_GROUPS) else self.variable

    def to_item(self) -> str | dict[str, Any]:
        if self.cuts:
            closed = {"closed": True} if self.is_closed else {}
            return {"variable": self.variable, "cuts": list(self.cuts), **closed}
        if self.level == OWN_GROUPS and self.groups:
            return {"variable": self.variable, "groups": {name: list(members) for name, members in self.groups}}
        if self.level and self.level != OWN_GROUPS:
            return {"variable": self.variable, "level": self.level}
        if self.picks:
            return {"variable": self.variable, "categories": list(self.picks)}
        return self.variable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The table being built. Choices are kept in the order in which they were placed."""

    rows: tuple[AxisChoice, ...] = ()
    columns: tuple[AxisChoice, ...] = ()
    layers: tuple[AxisChoice, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    measure: str = DEFAULT_MEASURE
    of: str = ""
    weight: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    margins: bool = False
    universe: str = ""
    error: str = ""
    definition: str = ""
    amounts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    problems: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[AxisChoice, ...]:
        return self.rows + self.columns + self.layers

    @property
    def is_empty(self) -> bool:
        """Whether no variable was placed, and the measure needs one."""
        return not self.choices and not find_method(self.measure).is_one_number

    @property
    def places(self) -> dict[str, tuple[AxisChoice, ...]]:
        return {"rows": self.rows, "columns": self.columns, "layers": self.layers}

    def place_of(self, variable: str) -> str:
        places = (p for p, choices in self.places.items() if any(c.variable == variable for c in choices))
        return next(places, "")

    def choice_of(self, variable: str) -> AxisChoice | None:
        return next((choice for choice in self.choices if choice.variable == variable), None)

    def act(self, action: str, dataset: DatasetView) -> "TableState":
        """Apply what a button says: `rows:sex`, `remove:sex`, `earlier:sex`, `swap:`; anything else changes nothing."""
        verb, _, name = action.partition(":")
        if verb == "swap":
            return replace(self, rows=self.columns, columns=self.rows)
        if verb == "clear":
            return TableState(definition=self.definition, amounts=self.amounts)
        variable = dataset.variable(name)
        if variable is None:
            return self
        if verb in PLACES:
            return self._put(verb, variable)
        if verb == "remove":
            return self._without(name)
        if verb == "earlier":
            return self._earlier(name)
        return self

    def _without(self, name: str) -> "TableState":
        kept: dict[str, Any] = {
            place: tuple(c for c in choices if c.variable != name) for place, choices in self.places.items()
        }
        return replace(self, **kept)

    def _put(self, place: str, variable: VariableView) -> "TableState":
        name = variable.name
        if self.place_of(name) == place:
            return self
        choice = self.choice_of(name)
        if choice is None:
            cuts = suggested_cuts(variable)
            choice = AxisChoice(variable=name, picks=tuple(self.where.get(name, ())), cuts=cuts)
        rest = self._without(name)
        changed: dict[str, Any] = {place: (*rest.places[place], choice)}
        return replace(rest, **changed, where={k: v for k, v in self.where.items() if k != name})

    def _earlier(self, name: str) -> "TableState":
        place = self.place_of(name)
        if not place:
            return self
        choices = list(self.places[place])
        at = next(i for i, c in enumerate(choices) if c.variable == name)
        choices.insert(max(at - 1, 0), choices.pop(at))
        changed: dict[str, Any] = {place: tuple(choices)}
        return replace(self, **changed)

    def to_pairs(self) -> Pairs:
        """The shortest fields that say this state, in a fixed order."""
        pairs: Pairs = [(place, choice.variable) for place, choices in self.places.items() for choice in choices]
        for choice in self.choices:
            name = choice.variable
            if choice.level:
                pairs.append((f"level.{name}", choice.level))
            if choice.level == OWN_GROUPS:
                pairs += [(f"group.{name}", f"{group}|{m}") for group, members in choice.groups for m in members]
            elif not choice.level:
                pairs += [(f"pick.{name}", pick) for pick in choice.picks]
            if choice.cuts:
                pairs.append((f"cuts.{name}", ",".join(choice.cuts)))
            if choice.is_closed:
                pairs.append((f"closed.{name}", "1"))
        for name, labels in self.where.items():
            pairs += [(f"where.{name}", label) for label in labels]
        for name, (low, high) in self.ranges.items():
            pairs += [(f"{end}.{name}", text) for end, text in (("from", low), ("to", high)) if text]
        if self.measure != DEFAULT_MEASURE:
            pairs.append(("measure", f"{self.measure}:{self.of}"))
            pairs += [pair for name, values in self.keys.items() for pair in self._key_pairs(name, values)]
        rest = {"weight": self.weight, "error": self.error, **self._margin_keys(), "definition": self.definition}
        rest |= {name: self.amounts.get(name, "") for name in AMOUNTS}
        return pairs + [(key, value) for key, value in (rest | {"title": self.title}).items() if value]

    def _key_pairs(self, name: str, values: tuple[str, ...]) -> Pairs:
        if form_fields(self.measure)[name].kind is FieldKind.BETWEEN:
            return [(f"key.{name}.{end}", text) for end, text in zip(("from", "to"), values, strict=False) if text]
        return [(f"key.{name}", value) for value in values]

    def _margin_keys(self) -> dict[str, str]:
        return {"margins": "all", "universe": self.universe} if self.margins else {}

    def _stated(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Keys of the measure that say more than leaving them out, and that the guarantee knows."""
        fields = form_fields(self.measure)
        for name, field_ in fields.items():
            values = self.keys.get(name, ())
            if field_.is_everywhere and not self._holds_everywhere():
                continue
            if values and (field_.is_needed or values != (field_.usual,)):
                yield name, values

    def subject(self) -> Subject:
        table = self.to_request("")["table"]
        return Subject.derived({"measure": self.measure, "of": self.of, "weight": self.weight, "keys": table})

    def _holds_everywhere(self) -> bool:
        """Whether the guarantee is kept at every data set; so is one that nobody knows, which is refused later."""
        definition = self.definition or "pure"
        is_known = definition in registry.names("definitions")
        return not is_known or registry.get("definitions", definition).scope is Scope.ALL_DATA

    def to_request(self, dataset: str) -> dict[str, Any]:
        table: dict[str, Any] = {
            place: [choice.to_item() for choice in choices] for place, choices in self.places.items() if choices
        }
        where: dict[str, Any] = {name: list(labels) for name, labels in self.where.items() if labels}
        for name, (low, high) in self.ranges.items():
            ends = {key: text for key, text in (("at_least", low), ("at_most", high)) if text}
            if ends:
                where[name] = ends
        if where:
            table["where"] = where
        if self.measure != DEFAULT_MEASURE:
            table |= {"measure": self.measure} | ({"of": self.of} if self.of else {})
            # A form writes keys of its own where the guarantee holds for all data.
            table |= find_method(self.measure).form_keys if self._holds_everywhere() else {}
            table |= {"error": self.error} if self.error else {}
            for name, values in self._stated():
                table[name] = _as_written(form_fields(self.measure)[name].kind, values)
        table |= {key: value for key, value in {"weight": self.weight, **self._margin_keys()}.items() if value}
        amounts = {name: self.amounts[name] for name in AMOUNTS if self.amounts.get(name)}
        request: dict[str, Any] = {
            "dataset": dataset,
            "table": table,
            "privacy": {"definition": self.definition or "pure", **amounts},
        }
        return request | ({"title": self.title} if self.title else {})


def _as_written(kind: FieldKind, values: tuple[str, ...]) -> Any:
    """Return a key as a request writes it; what is not a number is left for the planner to refuse."""
    if kind is FieldKind.BETWEEN:
        return {end: text for end, text in zip(ENDS, values, strict=False) if text}
    if kind.is_list or (kind is FieldKind.NUMBERS and len(values) > 1):
        return list(values)
    is_whole = kind is FieldKind.WHOLE and values[0].isascii() and values[0].isdigit()
    return int(values[0]) if is_whole else values[0]


def suggested_cuts(variable: VariableView) -> tuple[str, ...]:
    """At most five classes of equal width over the declared bounds, on the declared grid."""
    if variable.bounds is None:
        return ()
    step = Fraction(variable.step or "1")
    low, high = (int(Fraction(end) / step) for end in variable.bounds)
    if high <= low:
        return ()
    width = max(1, -(-(high - low) // 5))
    return tuple(plain(cut * step) for cut in [*range(low, high, width), high])


def known_errors(measure: str) -> tuple[str, ...]:
    return find_method(measure).form_errors


def offered_errors(state: TableState, dataset: DatasetView) -> tuple[str, ...]:
    """Errors that a form offers; none where no error of sampling can be stated, which the planner refuses."""
    has_sampling = Draws(dataset.draws).has_sampling(is_weighted=bool(state.weight))
    return known_errors(state.measure) if has_sampling else ()
