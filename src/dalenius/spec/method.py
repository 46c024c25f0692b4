"""What every method of `dalenius.methods` states: the contract of one question that can be asked.

A method owns its name (`measure = "…"`), its keys in the request document, its plan, the words in which its answer is
shown, and its examples. It never meets data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from dalenius.core import registry
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.rationals import rational
from dalenius.spec.document import Part
from dalenius.spec.question import Question
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
    quantile; `preview` says what error to expect and may hold {error} and {records}; `caption` stands under a table and
    may hold {level}, the confidence of its margins.
    """

    title: str
    preview: str
    caption: str


class FieldKind(StrEnum):
    """What a field of a form takes; several numbers are written between semicolons."""

    VARIABLE = "variable"
    VARIABLES = "variables"
    CATEGORIES = "categories"
    NUMBER = "number"
    NUMBERS = "numbers"
    WHOLE = "whole"
    ENDS = "ends"
    CHOICE = "choice"

    @property
    def is_list(self) -> bool:
        """Whether a request writes a list."""
        return self in (FieldKind.CATEGORIES, FieldKind.VARIABLES, FieldKind.ENDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A key of a method that a form asks for: its name in every language, and what it says where nobody fills it in.

    `usual` is what leaving the key out of a request means, `first` what a form proposes; a key that `is_needed` cannot
    be left out. One that `is_everywhere` is known only where the guarantee holds everywhere, and left out elsewhere.
    `choices` are the words that may be chosen, each in every language. `part` proposes a number by the declared bounds
    of the variable asked about: so much of their width. A key that stands `in_place_of` another one leaves that out
    where it is filled in.
    """

    kind: FieldKind
    labels: Mapping[str, str]
    usual: str = ""
    first: str = ""
    is_needed: bool = False
    is_everywhere: bool = False
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    part: Fraction | None = None
    in_place_of: str = ""


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


def takes_categories(method: str) -> bool:
    """Whether the variable that a form asks a method about has categories instead of numbers."""
    return any(asked.kind is FieldKind.CATEGORIES for asked in form_fields(method).values())


def is_offered(method: str, domain: Domain) -> bool:
    """Whether a form offers a method: with no key filled in or by its fields, and where what is declared suits it."""
    offered = registry.get("methods", method)
    suits = getattr(offered, "suits", None)
    return bool(offered.is_offered or form_fields(method)) and (suits is None or bool(suits(domain)))


def is_one_number(method: str) -> bool:
    """Whether the answer is one number of one list of records, which no variable parts into cells."""
    return getattr(registry.get("methods", method), "is_one_number", False) is True


def form_fields(method: str) -> Mapping[str, FormField]:
    """The keys of a method that a form asks for, by name."""
    fields: Mapping[str, FormField] = getattr(registry.get("methods", method), "form_fields", {})
    return fields


class Method(Protocol):
    """One question that can be asked.

    `takes_of` says whether it is of a numeric variable; `counts_records` whether a cell is a number of records, which
    may be weighted, and on which a policy's rules about counts are kept; `scopes` under which guarantees it has a
    route; `has_error` whether its numbers carry a published error, and `without_error` the keys, if any, with which
    they do not; `is_offered` whether a form may offer it with no key of its own filled in. A method whose answer is no
    value of its variable also states `answer`. A method may state `form_keys`, what a form writes beside its name,
    `form_fields`, keys that a form asks for and that make it one to be offered, `suits(domain)`, to which declared data
    a form offers it, `is_one_number`, that no variable parts its answer into cells, `form_errors`, which other values
    of `error` a form offers, `is_symmetric`, that `of` and `other` may change places, `belongs`, with what else each
    key makes sense, for the refusal of one that was not used, `finds_labels`, that its cells are texts which are not
    declared, and `takes_weight`, whether its rows may be weighted where a cell is no number of records; then also
    `keys_with_weight(parameters)`, its keys as a weighted request means them.
    """

    name: ClassVar[str]
    takes_of: ClassVar[bool]
    counts_records: ClassVar[bool]
    has_error: ClassVar[bool]
    is_offered: ClassVar[bool]
    scopes: ClassVar[tuple[Scope, ...]]
    words: ClassVar[Mapping[str, Words]]
    examples: ClassVar[tuple[Mapping[str, Any], ...]]
    Parameters: ClassVar[type[Part]]

    @staticmethod
    def plan(question: Question) -> TablePlan:
        """A priced plan, or a refusal; looks at documents, never at data."""

    @staticmethod
    def written(parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The measure and options under which a request is kept: `(name, parameters)` but for older spellings."""


def spelled(parameters: Mapping[str, Any], **usual: Fraction | str) -> dict[str, Any]:
    """A method's keys without those that say what leaving them out says: one question has one spelling, and one answer.

    >>> spelled({"per": "1.0", "other": "age"}, per=Fraction(1), error="sampling")
    {'other': 'age'}
    """

    def says_nothing(key: str, value: Any) -> bool:
        default = usual.get(key)
        is_number = isinstance(default, Fraction) and value is not None
        return default is not None and (rational(value, key) if is_number else value) == default

    return {key: value for key, value in parameters.items() if not says_nothing(key, value)}


@runtime_checkable
class JudgingMethod(Protocol):
    """A method that judges every cell by a rule; the custodian's own eyes may see its exact verdicts."""

    name: ClassVar[str]

    @staticmethod
    def judged(query: TableQuery, of: str, options: Mapping[str, object]) -> tuple[list[str], Any]:
        """The cells, and the statistic whose `queries` fetch their values and whose `is_dominated` judges them."""


@runtime_checkable
class SensitiveMethod(Protocol):
    """A method of one statistic whose sensitivities the custodian's own eyes may see at the data."""

    name: ClassVar[str]

    @staticmethod
    def statistic(question: Question) -> Any:
        """Return the statistic of the rows; it states `local`, `smooth` or `bootstrap` sensitivities."""


def answer_of(method: str) -> AnswerKind:
    """What a cell of this method's answer is."""
    answer: AnswerKind = getattr(registry.get("methods", method), "answer", AnswerKind.VALUE)
    return answer


def takes_weight(measure: str) -> bool:
    """Whether rows may be weighted."""
    return counts_records(measure) or (
        measure in registry.names("methods")
        and getattr(registry.get("methods", measure), "takes_weight", False) is True
    )


def counts_records(measure: str) -> bool:
    """Whether a table of this measure shows numbers of records, one by one."""
    return measure in registry.names("methods") and registry.get("methods", measure).counts_records is True
