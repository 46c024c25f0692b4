"""What every method of `dalenius.methods` states: the contract of one question that can be asked.

A method owns its name (`measure = "…"`), its keys in the request document, its plan, the words in which its answer is
shown, and its examples. It never meets data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import plain
from dalenius.spec.document import Part, exact
from dalenius.spec.question import Question
from dalenius.spec.request import PrivacyPart, definition_of
from dalenius.translation import texts

LANGUAGES = ("en", "de")


class AnswerKind(StrEnum):
    """What a cell of an answer is: a value in its variable's unit, a bare number, or a selected cell."""

    VALUE = "value"
    NUMBER = "number"
    CELL = "cell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How one language speaks of a method's answer.

    `title` names what a cell shows and may hold {of}, {other} for a second variable and {q} for the level of a
    quantile; `preview` says what error to expect and may hold {error}, {records} and {ranks}; `caption` stands under a
    table and may hold {level}, the confidence of its margins.
    """

    title: str
    preview: str
    caption: str


class FieldKind(StrEnum):
    """What a field of a form takes; several numbers are written between semicolons, a range by one end or both."""

    VARIABLE = "variable"
    VARIABLES = "variables"
    CATEGORIES = "categories"
    NUMBER = "number"
    NUMBERS = "numbers"
    WHOLE = "whole"
    ENDS = "ends"
    BETWEEN = "between"
    CHOICE = "choice"

    @property
    def is_list(self) -> bool:
        return self in (FieldKind.CATEGORIES, FieldKind.VARIABLES, FieldKind.ENDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A key of a method that a form asks for: its name in every language, and what it says where nobody fills it in.

    `usual` is what leaving the key out of a request means, `first` what a form proposes; a key that `is_needed` cannot
    be left out. One that `is_everywhere` is known only where the guarantee holds everywhere, and left out elsewhere.
    `choices` are the words that may be chosen, each in every language. `part` proposes a number by the declared bounds
    of the variable asked about: so much of their width.
    """

    kind: FieldKind
    labels: Mapping[str, str]
    usual: str = ""
    first: str = ""
    is_needed: bool = False
    is_everywhere: bool = False
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    part: Fraction | None = None


WHICH_ERROR = FormField(
    kind=FieldKind.CHOICE,
    labels=texts("Error"),
    usual="sampling",
    # It always has a price: squares of squares, which the other one needs, are too wide where a unit has several rows.
    first="noise",
    is_everywhere=True,
    choices={"sampling": texts("of noise, and with sampling"), "noise": texts("of privacy noise alone")},
)
"""The error that is stated: that of sampling costs a part of the budget."""


class _NoKeys(dict[str, Any]):
    """An empty mapping that a class of methods may share as a default."""

    __hash__ = object.__hash__  # type: ignore[assignment]


# Static, so that a class of methods and an instance of it are asked alike.
_ALWAYS: Callable[[Domain], bool] = staticmethod(lambda _: True)
_SAME: Callable[[Mapping[str, Any]], dict[str, Any]] = staticmethod(lambda keys: {**keys})
_NOTHING: Callable[[Mapping[str, Any]], None] = staticmethod(lambda _: None)


@dataclass(eq=False, kw_only=True)
class Method:
    """One question that can be asked: what a method states, and what holds for one that does not say otherwise.

    A method is a value. Some are classes that are asked as they are, without an instance.
    """

    name: str
    words: Mapping[str, Words]
    examples: tuple[Mapping[str, Any], ...]
    plan: Callable[[Question], TablePlan]
    """Return a plan with its cost, or refuse; looks at documents, never at data."""
    Parameters: type[Part] = Part
    scopes: tuple[Scope, ...] = (Scope.ALL_DATA,)
    """Under which guarantees it has a route."""
    takes_of: bool = True
    """Whether it is of a numeric variable."""
    counts_records: bool = False
    """Whether a cell is a number of records, which may be weighted, and on which a policy's rules for counts hold."""
    takes_weight: bool = False
    """Whether rows may be weighted where a cell is no number of records."""
    is_symmetric: bool = False
    """Whether `of` and `other` may change places."""
    finds_labels: bool = False
    """Whether its cells are texts that are not declared."""
    has_error: bool = True
    """Whether its numbers carry a published error."""
    without_error: tuple[str, ...] = ()
    """Keys with which they do not."""
    answer: AnswerKind = AnswerKind.VALUE
    is_one_number: bool = False
    """Whether no variable parts its answer into cells."""
    noises: Mapping[str, type[Part]] = _NoKeys()
    """Keys of [privacy.noise] by the value of `method` that takes them."""
    belongs: Mapping[str, str] = _NoKeys()
    """With what else each key makes sense, for the refusal of one that was not used."""
    is_offered: bool = True
    """Whether a form may offer it with no key of its own filled in."""
    form_fields: Mapping[str, FormField] = _NoKeys()
    """Keys that a form asks for, and that make it one to be offered."""
    form_keys: Mapping[str, Any] = _NoKeys()
    """What a form writes beside its name."""
    errors: tuple[str, ...] = ("noise", "sampling")
    """Which values of `error` it takes."""
    usual_error: str = "sampling"
    """Which one leaving `error` out means, so that it is not written; empty where none does."""
    form_errors: tuple[str, ...] = ()
    """Which other values of `error` a form offers."""
    suits: Callable[[Domain], bool] = _ALWAYS
    """Whether a form offers it for these declared data."""
    keys_with_weight: Callable[[Mapping[str, Any]], dict[str, Any]] = _SAME
    """Return its keys as a weighted request means them."""
    canonical_keys: Callable[[Mapping[str, Any]], dict[str, Any]] = _SAME
    """Return its keys, from which defaults are gone, in the one spelling in which a request is kept."""
    equivalent: Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]] | None] = _NOTHING
    """Return the measure and keys of another method that asks the same, or None."""
    judged: Callable[[TableQuery, str, Mapping[str, object]], tuple[list[str], Any]] | None = None
    """Return the cells that it judges by a rule, and the statistic whose `queries` fetch their values and whose
    `is_dominated` judges them; the custodian's own eyes may see its exact verdicts.
    """
    statistic: Callable[[Question], Any] | None = None
    """Return the statistic of the rows, which states `local`, `smooth` or `bootstrap` sensitivities; the custodian's
    own eyes may see these at the data.
    """


def example(**keys: Any) -> dict[str, Any]:
    """Return a request document of these keys, each in its section; amounts imply the definition that is not named.

    >>> example(rows=["sex"], measure="mode", epsilon=1)
    {'table': {'rows': ['sex'], 'measure': 'mode'}, 'privacy': {'definition': 'pure', 'epsilon': 1}}
    """
    privacy = {key: value for key, value in keys.items() if key in PrivacyPart.model_fields}
    table = {key: value for key, value in keys.items() if key not in privacy}
    return {"table": table, "privacy": {"definition": definition_of(privacy), **privacy}}


def exact_texts(keys: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a method's keys with these numbers, or lists of numbers, as exact text.

    >>> exact_texts({"q": 0.5, "bounds": [1, "1.50"]}, "q", "bounds", "bound")
    {'q': '0.5', 'bounds': ['1', '1.5']}
    """

    def text(value: Any) -> Any:
        return [plain(exact(each)) for each in value] if isinstance(value, list | tuple) else plain(exact(value))

    return {key: text(value) if key in names else value for key, value in keys.items()}


def find_method(measure: str) -> type[Method]:
    """Return the method of a measure; the defaults where there is none of this name here."""
    method: type[Method] = registry.get("methods", measure) if measure in registry.names("methods") else Method
    return method


def takes_weight(measure: str) -> bool:
    return find_method(measure).counts_records or find_method(measure).takes_weight


def counts_records(measure: str) -> bool:
    """Whether a table of this measure shows numbers of records, one by one."""
    return find_method(measure).counts_records


def form_fields(method: str) -> Mapping[str, FormField]:
    """The keys of a method that a form asks for, by name."""
    return find_method(method).form_fields


def takes_categories(method: str) -> bool:
    """Whether the variable that a form asks a method about has categories instead of numbers."""
    return any(asked.kind is FieldKind.CATEGORIES for asked in form_fields(method).values())


def is_offered(method: str, domain: Domain) -> bool:
    """Whether a form offers a method: with no key filled in or by its fields, and where what is declared suits it."""
    offered = find_method(method)
    return bool(offered.is_offered or offered.form_fields) and offered.suits(domain)
