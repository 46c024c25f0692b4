"""The request document: which table is asked for, under which guarantee."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, WithJsonSchema, model_serializer, model_validator
from pydantic.json_schema import SkipJsonSchema

from dalenius.core import registry
from dalenius.core.budget import UNIT, Budget
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.errors import DocumentError, InternalError, ParameterError, TooLarge, UnknownName
from dalenius.limits import AXES, MARGINS
from dalenius.rendering import two_lines
from dalenius.spec.axis import OWN, AxisPart, Condition, Ranges, axis_of, condition_filter, structural_zeros, with_rest
from dalenius.spec.document import DEFAULT_MEASURE, Document, Exact, Name, Part, Text, Whole, unknown_key, usual
from dalenius.spec.expected import ExpectedPart
from dalenius.spec.noise import parameters_of
from dalenius.spec.remembered import remembered
from dalenius.spec.show import ShowPart

AxisItem = Name | AxisPart
Margins = Annotated[tuple[Annotated[tuple[Name, ...], Field(max_length=AXES)], ...], Field(max_length=MARGINS)]
Stated = int | Exact | str | tuple[int, ...]
Option = bool | int | Exact | str | tuple[str, ...] | Ranges | dict[str, int] | dict[str, str | tuple[str, ...]]


class TablePart(Part, section="[table]"):
    """[table]: what is counted or summed, and how it is laid out."""

    rows: tuple[AxisItem, ...] = usual((), "Variables whose labels stand on the rows.", max_length=AXES)
    columns: tuple[AxisItem, ...] = usual((), "Variables whose labels stand on the columns.", max_length=AXES)
    layers: tuple[AxisItem, ...] = usual((), "Variables with a table for each label.", max_length=AXES)
    where: dict[Name, Condition] = usual(dict, "Conditions on the records that count, by variable.")
    measure: Annotated[Name, WithJsonSchema({"enum": list(registry.names("methods"))})] = usual(
        DEFAULT_MEASURE, "What is released of each cell."
    )
    of: Name | None = usual(None, "The numeric variable of a total, mean, median, ….")
    weight: Name | None = usual(None, "A numeric variable by which each row counts.")
    margins: Literal["none", "all"] | Margins = usual(
        "none", "Which sums are shown beside the table, each measured with it: all, or lists of axes."
    )
    weights: tuple[Exact, ...] = usual((), "Importance of each listed margin.", max_length=MARGINS)
    objective: Literal["cells", "tables", "maximum", "relative"] = usual(
        "cells",
        "What a list of margins makes small: the error of all shown cells (cells), of all tables alike "
        "(tables), the largest one (maximum), or relative errors by expected size (relative).",
    )
    expected: ExpectedPart | None = usual(None, "Where the expected sizes of cells are read from, for relative errors.")
    universe: Literal["complete", "own"] | None = usual(
        None,
        "Whose records a list of margins counts where an axis can leave some out: complete, only those with a declared "
        "value on all axes, shown or not; own, all of them, those without a declared value under a label of their own.",
    )

    keys: SkipJsonSchema[dict[Name, Option]] = Field(default_factory=dict)
    """The method's own keys, which a document writes beside the others."""

    @model_serializer(mode="wrap")
    def _beside_the_others(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = serialise(self)
        own: dict[str, Any] = content.pop("keys", {})
        return content | own

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.measure not in registry.names("methods"):
            raise registry.unknown("methods", self.measure, "measure")
        takes_of = registry.get("methods", self.measure).takes_of
        if takes_of != (self.of is not None):
            raise DocumentError(
                f"measure = {self.measure!r} "
                + ('needs of = "variable".' if takes_of else "counts rows and takes no 'of'.")
            )
        if self.margins == "all" and 2 ** len(self.items) > MARGINS:
            raise TooLarge(
                f'margins = "all" of {len(self.items)} axes are more than {MARGINS:,}; list those that are needed.',
                limit=MARGINS,
            )
        if self.weights and (isinstance(self.margins, str) or len(self.weights) != len(self.margins)):
            raise DocumentError("weights must be as many numbers as there are listed margins.")
        if any(weight <= 0 for weight in self.weights):
            raise DocumentError("weights must be positive.")
        if self.expected is not None or self.objective == "relative":
            _check_expected(self)
        return self

    @property
    def items(self) -> tuple[AxisItem, ...]:
        """All axis items in reading order."""
        return self.rows + self.columns + self.layers


def _without_decimals(value: Any) -> Any:
    """Return what a key says with decimals, which TOML has, as text."""
    if isinstance(value, Mapping):
        return {name: _without_decimals(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_decimals(part) for part in value]
    return str(value) if isinstance(value, Decimal) else value


def _check_expected(table: TablePart) -> None:
    """Raise unless expected sizes go with relative errors and weigh each listed margin."""
    expected = table.expected
    if expected is None or table.objective != "relative":
        raise DocumentError('objective = "relative" and expected = { file = … } are written together.')
    if expected.file or not expected.sha256:
        raise DocumentError("A file of expected sizes is read where a request is read from a file.")
    is_listed = not isinstance(table.margins, str) and len(expected.weights) == len(table.margins)
    if not is_listed or any(weight <= 0 for weight in expected.weights):
        raise DocumentError("expected needs one positive weight for each listed margin.")
    if table.weights:
        raise DocumentError("Expected sizes are weights already: leave weights out.")


class PrivacyPart(Part, section="[privacy]"):
    """[privacy]: how much may be spent, or how accurate the answer must be; the rest is the planner's unless named."""

    definition: Name = usual(
        "",
        "The privacy definition. It follows from the amounts: pure from epsilon, approximate from epsilon and delta, "
        "zero_concentrated from rho. For an accuracy it is the first one of the policy.",
    )
    epsilon: Exact | None = usual(None, "What may be spent, under pure, approximate and weaker definitions.")
    delta: Exact | None = usual(None, "The probability with which the bound by epsilon may fail.")
    rho: Exact | None = usual(None, "What may be spent, under zero-concentrated privacy.")
    error_at_most: Exact | None = usual(
        None, "In place of amounts: half the length of the 95 % interval of the noise in the median cell."
    )
    in_table: tuple[Name, ...] | None = usual(
        None, "With error_at_most: the axes of the listed table whose median cell is meant; [] is the total."
    )
    in_cells_of: Whole | None = usual(
        None,
        "How many records a cell is expected to have, where the error depends on it; the declared size divided by "
        "the number of cells, or 1000, if left out.",
        ge=1,
    )
    mechanism: Name | None = usual(None, "The noise; the planner takes the one with the least error.")
    strategy: Name | None = usual(None, "What is measured for a list; the planner takes the one with the least error.")
    group: Whole = usual(
        1, "How many units together the guarantee is made for; the noise grows with it.", ge=1, le=1000
    )
    waves: Whole = usual(
        1, "How many waves of a series share the amounts: one release spends one part of so many.", ge=1, le=1000
    )
    noise: dict[Name, Stated] = usual(
        dict, "Parameters of the mechanism, or of the method of an order statistic, that is named; each states its own."
    )

    @model_validator(mode="before")
    @classmethod
    def _names_a_definition(cls, value: Any) -> Any:
        """Add the definition that the amounts imply; one for an accuracy is the policy's."""
        if not isinstance(value, Mapping) or value.get("definition") or value.get("error_at_most") is not None:
            return value
        return {**value, "definition": definition_of(value)}

    @model_validator(mode="after")
    def _has_an_amount(self) -> Self:
        has_amount = self.epsilon is not None or self.rho is not None
        if self.error_at_most is None:
            if not has_amount:
                raise ParameterError(
                    "[privacy] must say how much may be spent: rho, epsilon (and delta), or error_at_most."
                )
            if self.in_table is not None:
                raise ParameterError("`in_table` belongs to `error_at_most`. Remove it, or set `error_at_most`.")
        elif has_amount:
            raise ParameterError("An amount follows from `error_at_most`. Remove it, or remove epsilon and rho.")
        elif self.error_at_most <= 0:
            raise ParameterError("`error_at_most` must be positive.", name="error_at_most")
        Budget(definition=self.definition, epsilon=self.epsilon, delta=self.delta, rho=self.rho)
        for name, amount in (("epsilon", self.epsilon), ("rho", self.rho)):
            if amount is not None and amount / self.waves < UNIT:
                raise ParameterError(
                    f"{name} must be at least {float(UNIT):g}, the smallest unit of a ledger; received"
                    f" {float(amount):g}.",
                    name=name,
                )
        if self.mechanism is not None:
            parameters_of(self.mechanism, self.noise)
        return self

    def budget(self) -> Budget:
        """What one release of the request may spend: all of it, or the part of one wave."""
        if self.error_at_most is not None:
            raise InternalError("This request has an accuracy; a planner finds its amount first.")
        amounts = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return Budget(
            definition=self.definition,
            **{name: amount / self.waves for name, amount in amounts.items() if amount is not None},
        )

    @property
    def words(self) -> str:
        """Definition and amounts, for people."""
        if self.error_at_most is not None:
            return f"{self.definition or 'the policy' + chr(39) + 's definition'}, error at most {self.error_at_most}"
        amounts = ", ".join(f"{k} {v}" for k, v in self.budget().to_dict().items() if k != "definition")
        return f"{self.definition} {amounts}"


def definition_of(amounts: Mapping[str, Any]) -> str:
    """Return the definition that amounts imply: pure for epsilon, approximate with delta, zero-concentrated for rho."""
    epsilon, delta, rho = (amounts.get(name) for name in ("epsilon", "delta", "rho"))
    if epsilon is not None and rho is not None:
        raise ParameterError("Both epsilon and rho are set. Remove one, or set `definition`.")
    if rho is not None:
        return "zero_concentrated"
    return "pure" if delta is None else "approximate"


class RequestDocument(Document):
    """A whole request document."""

    kind: ClassVar[str] = "request document"

    dataset: Text = ""
    table: TablePart
    privacy: PrivacyPart
    show: ShowPart = ShowPart()
    title: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, value: Any) -> Any:
        """Collect the method's own keys in one canonical spelling."""
        if not isinstance(value, Mapping) or not isinstance(value.get("table"), Mapping):
            return value
        table, privacy = dict(value["table"]), value.get("privacy")
        name = table.get("measure", DEFAULT_MEASURE)
        if name not in registry.names("methods") or not isinstance(privacy, Mapping):
            return value
        method = registry.get("methods", name)
        own = {key: _without_decimals(table.pop(key)) for key in method.Parameters.model_fields if key in table}
        shared = [key for key in TablePart.model_fields if key != "keys"]
        for key in table:
            if key not in shared:
                raise unknown_key(str(key), [*shared, *method.Parameters.model_fields], f"[table] of a {name}")
        # A key that says what leaving it out says is left out: one question has one spelling.
        meant, defaults = method.Parameters.model_validate(own), method.Parameters.model_fields
        keys = {key: stated for key, stated in own.items() if getattr(meant, key) != defaults[key].default}
        if (error := keys.get("error")) is not None and error not in method.errors:
            served = " or ".join(map(repr, method.errors))
            raise DocumentError(f"table.error of a {name} must be {served}; received {error!r}.", received=error)
        if keys.get("error") == method.usual_error:
            del keys["error"]
        if table.get("weight") is not None:
            keys = method.keys_with_weight(keys)
        measure, keys = method.equivalent(keys) or (name, method.canonical_keys(keys))
        if measure != DEFAULT_MEASURE or "measure" in table:
            table["measure"] = measure
        return {**value, "table": table | {"keys": keys}}

    @model_validator(mode="after")
    def _noise_is_known(self) -> Self:
        _ = self.stated_noise
        return self

    @property
    def stated_noise(self) -> Part | None:
        """Parameters of the mechanism or the method that is named, as its own model reads them."""
        mechanism, named = self.privacy.mechanism, self.table.keys.get("method")
        if mechanism is None and isinstance(named, str) and self.method in registry.names("methods"):
            return parameters_of(named, self.privacy.noise, registry.get("methods", self.method).noises)
        return parameters_of(mechanism, self.privacy.noise)

    def __repr__(self) -> str:
        what = f"{self.method} of {self.table.of}" if self.table.of else self.method
        names = ", ".join(item if isinstance(item, str) else item.variable for item in self.table.items)
        title = self.title or what + (f" by {names}" if names else "")
        return two_lines(f"Request: {title}", f"{what}, {self.privacy.words}")

    @property
    def method(self) -> str:
        return str(self.table.measure)

    @property
    def parameters(self) -> type[Part]:
        is_method = self.method in registry.names("methods")
        keys: type[Part] = registry.get("methods", self.method).Parameters if is_method else Part
        return keys

    @property
    def others(self) -> tuple[str, ...]:
        """Variables that the method's own keys name."""
        keys = self.table.keys
        named: list[Any] = [keys[key] for key in self.parameters.naming if key in keys]
        return tuple(name for value in named for name in (value if isinstance(value, tuple) else (str(value),)))

    def in_order(self, domain: Domain) -> "RequestDocument":
        """Return the same question with both variables of a symmetric one in one order: the narrower first, then by
        name.

        The number of rows is measured with the first, for nothing, so that a narrow one is better.
        """
        of, other = self.table.of, self.table.keys.get("other")
        is_method = self.method in registry.names("methods")
        if not is_method or not registry.get("methods", self.method).is_symmetric:
            return self
        if of is None or not isinstance(other, str) or {of, other} - set(domain.variables):
            return self
        widths = {name: domain.variable(name).bounds for name in (of, other)}
        first = min(widths, key=lambda name: (widths[name].high - widths[name].low, name))
        if first == of:
            return self
        keys = {**self.table.keys, "other": of}
        return self.model_copy(update={"table": self.table.model_copy(update={"of": other, "keys": keys})})

    def variables(self, domain: Domain) -> set[str]:
        """Return every variable on an axis, in a condition, measured, as weight, or named by a method's key."""
        named = {axis.variable for axis in self.axes(domain)} | set(self.table.where) | set(self.others)
        return named | {name for name in (self.table.of, self.table.weight) if name is not None}

    @remembered
    def axes(self, domain: Domain) -> tuple[Axis, ...]:
        """Rows, columns and layers as axes, in the order in which they were asked for."""
        axes = tuple(axis_of(item, domain, self.table.where) for item in self.table.items)
        return tuple(map(with_rest(domain), axes)) if self.table.universe == OWN else axes

    def space(self, domain: Domain) -> CellSpace:
        """All cells in the order in which they were asked for, with the declared structural zeros."""
        axes = self.axes(domain)
        is_virtual = self.table.margins not in ("none", "all")
        plain = CellSpace(axes, is_virtual=is_virtual)
        zeros = structural_zeros(plain, self.filters(domain), domain)
        return CellSpace(axes, zeros, is_virtual=is_virtual)

    def filters(self, domain: Domain) -> tuple[Filter, ...]:
        """Conditions in declared order of the variables."""
        for name in self.table.where:
            domain.variable(name)
        return tuple(
            condition_filter(name, self.table.where[name], domain)
            for name in domain.variables
            if name in self.table.where
        )

    def margins(self, domain: Domain) -> tuple[tuple[str, ...], ...] | None:
        """Names of the axes of each margin asked for; None for the table alone.

        A margin may name an axis, its variable, or a coarser declared level of it as "variable.level".
        """
        axes = self.axes(domain)
        names = [axis.name for axis in axes]
        if self.table.margins == "none":
            return None
        if self.table.margins == "all":
            return tuple(m for size in range(len(names), -1, -1) for m in combinations(names, size))
        return tuple(self._margin(margin, axes, domain) for margin in self.table.margins)

    @staticmethod
    def _margin(asked: tuple[str, ...], axes: tuple[Axis, ...], domain: Domain) -> tuple[str, ...]:
        places: dict[str, tuple[int, str]] = {}
        for number, axis in enumerate(axes):
            levels = domain.variable(axis.variable).hierarchies if axis.codes else ()
            places |= {f"{axis.variable}.{h.level}": (number, f"{axis.variable}.{h.level}") for h in levels}
            places |= {axis.variable: (number, axis.name), axis.name: (number, axis.name)}
        for name in asked:
            UnknownName.check("axis", name, places)
        chosen = sorted({places[name] for name in asked})
        if len({number for number, _ in chosen}) != len(asked):
            raise DocumentError(f"A margin names an axis twice; received {list(asked)}.")
        return tuple(name for _, name in chosen)

    def layout(self, domain: Domain) -> dict[str, Any]:
        """Which axes stand where, for readers; not part of the canonical form."""
        names = [axis.name for axis in self.axes(domain)]
        first, second = len(self.table.rows), len(self.table.rows) + len(self.table.columns)
        return {"rows": names[:first], "columns": names[first:second], "layers": names[second:]}
