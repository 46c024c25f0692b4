"""What the builder shows, as an address: every state is a URL, and every URL is a state.

    rows=sex&columns=region&level.region=state&pick.sex=Female&where.age=18-29&measure=total:income&epsilon=0.5

A state is read leniently: what is unknown is left out and named in `problems`, so that an old bookmark still opens.
Whether the request is allowed is the planner's business, not this module's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalenius.core.exact import plain
from dalenius.server.views import DatasetView, VariableView

PLACES = ("rows", "columns", "wafers")
AMOUNTS = ("epsilon", "delta", "rho")
OWN_GROUPS = "*"
_MOST_FIELDS = 5000

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisChoice:
    """One variable on rows, columns or wafers: all of it, a level, some categories, own groups, or cuts."""

    variable: str
    level: str = ""
    picks: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    cuts: tuple[str, ...] = ()

    def to_item(self) -> str | dict[str, Any]:
        """As a request document writes it."""
        if self.cuts:
            return {"variable": self.variable, "cuts": list(self.cuts)}
        if self.level == OWN_GROUPS and self.groups:
            return {
                "variable": self.variable,
                "groups": {name: list(members) for name, members in self.groups},
            }
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
    wafers: tuple[AxisChoice, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    measure: str = "count"
    of: str = ""
    margins: bool = False
    definition: str = ""
    amounts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    problems: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[AxisChoice, ...]:
        """All axes in reading order."""
        return self.rows + self.columns + self.wafers

    @property
    def is_empty(self) -> bool:
        """Whether no variable was placed."""
        return not self.choices

    def place_of(self, variable: str) -> str:
        """Where a variable stands: rows, columns, wafers or nowhere."""
        for place in PLACES:
            if any(choice.variable == variable for choice in getattr(self, place)):
                return place
        return ""

    def choice_of(self, variable: str) -> AxisChoice | None:
        """The axis that a variable stands on."""
        return next((choice for choice in self.choices if choice.variable == variable), None)

    # -- changes -------------------------------------------------------------------------------------------------

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
            place: tuple(c for c in getattr(self, place) if c.variable != name) for place in PLACES
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
        changed: dict[str, Any] = {place: (*getattr(rest, place), choice)}
        return replace(rest, **changed, where={k: v for k, v in self.where.items() if k != name})

    def _earlier(self, name: str) -> "TableState":
        place = self.place_of(name)
        if not place:
            return self
        choices = list(getattr(self, place))
        at = next(i for i, c in enumerate(choices) if c.variable == name)
        if at > 0:
            choices[at - 1 : at + 1] = [choices[at], choices[at - 1]]
        changed: dict[str, Any] = {place: tuple(choices)}
        return replace(self, **changed)

    def summed_over(self, names: set[str]) -> "TableState":
        """The margin without some variables: what they left out of the table stays left out."""
        where = dict(self.where)
        for choice in self.choices:
            kept = choice.picks or tuple(member for _, members in choice.groups for member in members)
            if choice.variable in names and kept:
                where[choice.variable] = kept
        state = replace(self, where=where)
        for name in names:
            state = state._without(name)
        return state

    # -- addresses and documents -----------------------------------------------------------------------------------

    def to_pairs(self) -> Pairs:
        """The shortest fields that say this state, in a fixed order."""
        pairs: Pairs = [(place, choice.variable) for place in PLACES for choice in getattr(self, place)]
        for choice in self.choices:
            name = choice.variable
            if choice.level:
                pairs.append((f"level.{name}", choice.level))
            if choice.level == OWN_GROUPS:
                pairs += [
                    (f"group.{name}", f"{group}|{m}") for group, members in choice.groups for m in members
                ]
            elif not choice.level:
                pairs += [(f"pick.{name}", pick) for pick in choice.picks]
            if choice.cuts:
                pairs.append((f"cuts.{name}", ",".join(choice.cuts)))
        for name, labels in self.where.items():
            pairs += [(f"where.{name}", label) for label in labels]
        for name, (low, high) in self.ranges.items():
            pairs += [(f"{end}.{name}", text) for end, text in (("from", low), ("to", high)) if text]
        if self.measure != "count":
            pairs.append(("measure", f"{self.measure}:{self.of}"))
        if self.margins:
            pairs.append(("margins", "all"))
        if self.definition:
            pairs.append(("definition", self.definition))
        pairs += [(name, self.amounts[name]) for name in AMOUNTS if self.amounts.get(name)]
        if self.title:
            pairs.append(("title", self.title))
        return pairs

    def to_request(self, dataset: str) -> dict[str, Any]:
        """The request document of this state, as plain values."""
        table: dict[str, Any] = {
            place: [choice.to_item() for choice in getattr(self, place)]
            for place in PLACES
            if getattr(self, place)
        }
        where: dict[str, Any] = {name: list(labels) for name, labels in self.where.items() if labels}
        for name, (low, high) in self.ranges.items():
            ends = {key: text for key, text in (("at_least", low), ("at_most", high)) if text}
            if ends:
                where[name] = ends
        if where:
            table["where"] = where
        if self.measure != "count":
            table |= {"measure": self.measure, "of": self.of}
        if self.margins:
            table["margins"] = "all"
        amounts = {name: self.amounts[name] for name in AMOUNTS if self.amounts.get(name)}
        request: dict[str, Any] = {
            "dataset": dataset,
            "table": table,
            "privacy": {"definition": self.definition or "pure", **amounts},
        }
        return request | ({"title": self.title} if self.title else {})


def from_request(request: Mapping[str, Any], dataset: DatasetView) -> TableState:
    """The state that builds a request document, as far as the builder can show it."""
    table = request.get("table", {})
    pairs: Pairs = []
    for place in PLACES:
        for item in table.get(place, ()):
            part: Mapping[str, Any] = {"variable": item} if isinstance(item, str) else item
            name = str(part["variable"])
            pairs.append((place, name))
            if part.get("level"):
                pairs.append((f"level.{name}", str(part["level"])))
            if part.get("groups"):
                pairs.append((f"level.{name}", OWN_GROUPS))
                pairs += [
                    (f"group.{name}", f"{g}|{m}") for g, members in part["groups"].items() for m in members
                ]
            pairs += [(f"pick.{name}", str(label)) for label in part.get("categories") or ()]
            if part.get("cuts"):
                pairs.append((f"cuts.{name}", ",".join(str(cut) for cut in part["cuts"])))
    for name, given in table.get("where", {}).items():
        if isinstance(given, Mapping):
            pairs += [
                (f"from.{name}", str(given.get("at_least") or "")),
                (f"to.{name}", str(given.get("at_most") or "")),
            ]
        else:
            pairs += [
                (f"where.{name}", str(label)) for label in ([given] if isinstance(given, str) else given)
            ]
    if table.get("of"):
        pairs.append(("measure", f"{table['measure']}:{table['of']}"))
    if table.get("margins", "none") != "none":
        pairs.append(("margins", "all"))
    privacy = request.get("privacy", {})
    pairs += [(key, str(privacy[key])) for key in ("definition", *AMOUNTS) if privacy.get(key)]
    pairs.append(("title", str(request.get("title", ""))))
    return read_pairs(pairs, dataset)


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


def read_pairs(pairs: Iterable[tuple[str, str]], dataset: DatasetView) -> TableState:
    """The state that fields of an address or of the builder's form stand for."""
    fields: dict[str, list[str]] = {}
    for number, (key, value) in enumerate(pairs):
        if number >= _MOST_FIELDS:
            break
        if value.strip() and "\x00" not in value:
            fields.setdefault(key, []).append(value)
    defaults = dataset.defaults
    reader = _Reader(fields, dataset)
    placed = {place: reader.axes(place) for place in PLACES}
    where, ranges = reader.conditions()
    measure, of = reader.measure()
    definition = reader.one("definition") or defaults.get("definition", "pure")
    amounts = {name: reader.one(name) for name in AMOUNTS if reader.one(name)}
    if not amounts:
        amounts = {name: defaults[name] for name in AMOUNTS if defaults.get(name)}
    return TableState(
        **placed,
        where=where,
        ranges=ranges,
        measure=measure,
        of=of,
        margins=reader.one("margins") == "all",
        definition=definition,
        amounts=amounts,
        title=reader.one("title")[:300],
        problems=tuple(reader.problems),
    )


class _Reader:
    """Reads fields against what was declared and remembers what it could not use."""

    def __init__(self, fields: Mapping[str, list[str]], dataset: DatasetView) -> None:
        self._fields = fields
        self._dataset = dataset
        self._seen: set[str] = set()
        self.problems: list[str] = []

    def one(self, key: str) -> str:
        """The last value of a field, without surrounding blanks."""
        return self._fields.get(key, [""])[-1].strip()

    def axes(self, place: str) -> tuple[AxisChoice, ...]:
        """Variables on one place; a variable that is unknown or stands elsewhere is left out."""
        found = []
        for name in self._fields.get(place, []):
            variable = self._dataset.variable(name)
            if variable is None:
                self.problems.append(name[:80])
            elif name not in self._seen:
                self._seen.add(name)
                found.append(self._axis(variable))
        return tuple(found)

    def _axis(self, variable: VariableView) -> AxisChoice:
        name = variable.name
        if variable.is_numeric:
            given = tuple(cut.strip() for cut in self.one(f"cuts.{name}").split(",") if cut.strip())
            return AxisChoice(variable=name, cuts=given or suggested_cuts(variable))
        labels = variable.categories
        chosen = self.one(f"level.{name}")
        if chosen == OWN_GROUPS:
            return AxisChoice(variable=name, level=chosen, groups=self._groups(name, labels))
        if chosen in {level.name for level in variable.levels}:
            return AxisChoice(variable=name, level=chosen)
        picks = set(self._fields.get(f"pick.{name}", []))
        kept = tuple(label for label in labels if label in picks)
        return AxisChoice(variable=name, picks=kept if len(kept) < len(labels) else ())

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
        """Filters on variables that stand on no axis, and ranges of numeric variables."""
        where: dict[str, tuple[str, ...]] = {}
        ranges: dict[str, tuple[str, str]] = {}
        for variable in self._dataset.variables:
            name = variable.name
            if variable.is_numeric:
                ends = self.one(f"from.{name}"), self.one(f"to.{name}")
                if any(ends):
                    ranges[name] = ends
                continue
            wanted = set(self._fields.get(f"where.{name}", []))
            kept = tuple(label for label in variable.categories if label in wanted)
            if kept and name not in self._seen and len(kept) < len(variable.categories):
                where[name] = kept
        return where, ranges

    def measure(self) -> tuple[str, str]:
        """What is shown in a cell."""
        measure, _, of = self.one("measure").partition(":")
        if measure in self._dataset.measures and self._dataset.variable(of) is not None:
            return measure, of
        return "count", ""
