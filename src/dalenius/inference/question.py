"""What every question of `inference/questions/` states: the contract of one thing that can be asked of a release.

A question is a function of a release with typed parameters. Its signature is its declaration: the command line makes
the options of a verb from it, the server the keys of a request, and both find it by the registry. A parameter without
a hint is for programs alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import signature
from types import GenericAlias
from typing import Annotated, Any, Protocol, get_args, get_origin, get_type_hints

from dalenius.core import registry
from dalenius.core.release import Release

REQUIRED = Argument.empty


class Answer(Protocol):
    """What every question gives: a result that prints itself, gives plain values, and draws itself."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""

    def plot(self, path: object = None) -> Any:
        """A figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What a parameter's type leaves open, stated in `Annotated`: words, limits, choices and other spellings.

    `options` spells it on the command line and `key` in a document, where they differ from its name.
    """

    help: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    key: str = ""
    is_positional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a question: its name, type and default from the signature, and its hint."""

    name: str
    type: Any
    default: Any
    hint: Hint

    @property
    def key(self) -> str:
        return self.hint.key or self.name

    @property
    def is_selection(self) -> bool:
        """Whether it names cells: labels by axis."""
        return get_origin(self.type) is Mapping

    @property
    def is_several(self) -> bool:
        return get_origin(self.type) in (tuple, Sequence)

    @property
    def is_release(self) -> bool:
        """Whether it is another release: a file on the command line, a ledger entry on a server."""
        return bool(self.type == Release | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceQuestion:
    """One thing that can be asked of a release, without data.

    `ask` takes the release (or several of one table) and the parameters; the first line of its docstring is the help.
    `assumes` is what an answer stands on beside the published law of the noise; every answer repeats it in detail.
    `verb` is a shorter name on the command line. A server answers for tables of up to `served_cells` cells, and does
    not offer a question whose work no table bounds (0). `examples` are asked of a table of counts over A, B and C.
    """

    name: str
    ask: Callable[..., Answer]
    assumes: tuple[str, ...]
    examples: tuple[Mapping[str, Any], ...]
    verb: str = ""
    is_simulated: bool = False
    served_cells: int = 20_000

    @property
    def help(self) -> str:
        return (self.ask.__doc__ or "").strip().split("\n")[0]

    @property
    def verbs(self) -> tuple[str, ...]:
        """Its names on the command line, the usual one first."""
        return tuple(dict.fromkeys([self.verb or self.name.replace("_", "-"), self.name.replace("_", "-")]))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        hints = get_type_hints(self.ask, include_extras=True)
        _, *rest = signature(self.ask).parameters.values()
        hinted = (argument for argument in rest if get_origin(hints[argument.name]) is Annotated)
        return tuple(_parameter(argument, hints[argument.name]) for argument in hinted)

    def answer(self, release: Any, **values: Any) -> Answer:
        """Ask with values by the names of parameters; those of `*axes` are a tuple."""
        call = signature(self.ask).bind_partial(release, **{k: v for k, v in values.items() if k != "axes"})
        call.arguments |= {name: values[name] for name in ("axes",) if name in values}
        call.apply_defaults()
        return self.ask(*call.args, **call.kwargs)


def _parameter(argument: Argument, annotated: Any) -> Parameter:
    kind, hint = get_args(annotated)[:2]
    if argument.kind is Argument.VAR_POSITIONAL:
        return Parameter(name=argument.name, type=GenericAlias(tuple, (kind, ...)), default=(), hint=hint)
    return Parameter(name=argument.name, type=kind, default=argument.default, hint=hint)


def every_question() -> Mapping[str, InferenceQuestion]:
    return {question.name: question for question in registry.every("inference.questions").values()}
