"""What every method of `dalenius.methods` states: the contract of one question that can be asked.

A method owns its name (`measure = "…"`), its keys in the request document, its plan, the words in which its answer is
shown, its examples, and the version of its meaning. It never meets data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.spec.document import Part
from dalenius.spec.question import Question

LANGUAGES = ("en", "de")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How one language speaks of a method's answer.

    `title` names what a cell shows and may hold {of}; `preview` says what error to expect and may hold {error} and
    {records}; `caption` stands under a table.
    """

    title: str
    preview: str
    caption: str


class Method(Protocol):
    """One question that can be asked.

    `scopes` says under which promises it has a route; `has_error` whether its numbers carry a published error;
    `is_offered` whether a form may offer it with no key of its own filled in.
    """

    name: ClassVar[str]
    meaning: ClassVar[int]
    takes_of: ClassVar[bool]
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
