"""`dalenius infer …`: what a release means, from its document alone; one verb per registered question."""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from dalenius.cli.documents import ReleasePath, read_release
from dalenius.cli.flags import command_of, signed
from dalenius.cli.output import check_figure, emit, say
from dalenius.cli.plan import AsJson
from dalenius.errors import ParameterError

if TYPE_CHECKING:
    from dalenius.inference.question import InferenceQuestion, Parameter

More = Annotated[list[Path] | None, Option("--also", help="A further release of the same table, analysed together.")]
Plot = Annotated[Path | None, Option(help="Also draw the result into this file: .png, .svg or .pdf.")]


class Questions(TyperGroup):
    """The verbs, looked for when one of them is needed: `dalenius --help` stays fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        from dalenius.inference.question import every_question

        return [question.verbs[0] for question in every_question().values()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from dalenius.inference.question import every_question

        for question in every_question().values():
            if cmd_name in question.verbs:
                return command_of(_verb(question), cmd_name, ctx)
        return None


app = typer.Typer(cls=Questions, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def infer() -> None:
    """What a release means: intervals, tests and models that know the noise."""


def _verb(question: "InferenceQuestion") -> Callable[..., None]:
    """A command with the question's own parameters between the release and the ways to show the answer."""

    def command(
        release: ReleasePath, also: More = None, as_json: AsJson = False, plot: Plot = None, **written: Any
    ) -> None:
        values = {
            parameter.name: _value(parameter, written[parameter.name])
            for parameter in question.parameters
            if written[parameter.name] is not None
        }
        releases = [read_release(place) for place in (release, *(also or ()))]
        _say(question.answer(releases if also else releases[0], **values), as_json, plot)

    return signed(command, map(_typed, question.parameters), name=question.name, words=question.help)


def _typed(parameter: "Parameter") -> inspect.Parameter:
    """A parameter as typer declares it: what is repeated is a list, and None if it was not written."""
    hint, nothing = parameter.hint, inspect.Parameter.empty
    is_list = parameter.is_selection or parameter.is_several
    member = str if parameter.is_selection else (*get_args(parameter.type), str)[0]
    kind: Any = GenericAlias(list, (member,)) if is_list else Path if parameter.is_release else parameter.type
    is_required = parameter.default is nothing
    if hint.is_positional:
        declared: Any = Annotated[kind, Argument(help=hint.help)]
    else:
        ends: dict[str, Any] = {"min": hint.least, "max": hint.most} if kind in (int, float) else {}
        option = Option(*hint.options, help=hint.help, **ends)
        declared = Annotated[kind if is_required else kind | None, option]
    default = nothing if is_required else None if is_list else parameter.default
    return inspect.Parameter(
        parameter.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=declared
    )


def _value(parameter: "Parameter", written: Any) -> Any:
    if parameter.is_selection:
        return _cells(written)
    if parameter.is_release:
        return read_release(written)
    return tuple(written) if isinstance(written, list) else written


def _cells(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    labels: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, sign, value = (part.strip() for part in pair.partition("="))
        if not sign:
            raise ParameterError(f"A label is written axis=label; received {pair!r}.")
        labels[name] = (*labels.get(name, ()), value)
    return labels


def _say(result: Any, as_json: bool, plot: Path | None) -> None:
    """Print a result that prints itself, or its document; under a test one plain sentence."""
    from dalenius.core.estimate import TestResult, plain_values

    check_figure(plot)
    if as_json:
        emit(plain_values(result.to_dict()))
    else:
        first, *rest = str(result).split("\n")
        say((first, "bold"), soft_wrap=True)
        for line in rest:
            say(line, soft_wrap=True)
    if plot is not None:
        result.plot(plot)
    if isinstance(result, TestResult) and not as_json:
        word = "speaks against" if result.p_value <= 0.05 else "does not contradict"
        say((f"At 5 % the release {word} this hypothesis.", "dim"))
