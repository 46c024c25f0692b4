"""`dalenius infer …`: what a release means, from its document alone; one verb per registered question."""

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperGroup

from dalenius.cli.documents import ReleasePath, read_release
from dalenius.cli.flags import with_plain_flags
from dalenius.cli.output import check_figure, emit, say
from dalenius.cli.plan import AsJson
from dalenius.errors import ParameterError

if TYPE_CHECKING:
    from dalenius.inference.question import InferenceQuestion, Parameter

More = Annotated[
    list[Path] | None,
    typer.Option("--also", help="A further release of the same table, analysed together.", show_default=False),
]
Plot = Annotated[
    Path | None, typer.Option(help="Also draw the result into this file: .png, .svg or .pdf.", show_default=False)
]


class Questions(TyperGroup):
    """The verbs, looked for when one of them is needed: `dalenius --help` stays fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        from dalenius.inference.question import every_question

        return [question.verbs[0] for question in every_question().values()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from dalenius.inference.question import every_question

        for question in every_question().values():
            if cmd_name in question.verbs:
                single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
                single.command(cmd_name)(_verb(question))
                return with_plain_flags(typer.main.get_command(single), ctx)
        return None


app = typer.Typer(cls=Questions, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def infer() -> None:
    """What a release means: intervals, tests and models that know the noise."""


def _verb(question: "InferenceQuestion") -> Callable[..., None]:
    """A command with the question's own parameters between the release and the ways to show the answer."""

    def command(release: Path, also: list[Path] | None, as_json: bool, plot: Path | None, **written: Any) -> None:
        given = {
            parameter.name: _value(parameter, written[parameter.name])
            for parameter in question.parameters
            if written[parameter.name] is not None
        }
        releases = [read_release(place) for place in (release, *(also or ()))]
        _say(question.ask(releases if also else releases[0], **given), as_json, plot)

    arguments = [
        _argument("release", ReleasePath),
        *(_typed(parameter) for parameter in question.parameters),
        _argument("also", More, None),
        _argument("as_json", AsJson, False),
        _argument("plot", Plot, None),
    ]
    arguments.sort(key=lambda argument: argument.default is not Argument.empty)
    command.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    command.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    command.__doc__ = question.help
    return command


def _argument(name: str, annotation: Any, default: Any = Argument.empty) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, default=default, annotation=annotation)


def _typed(parameter: "Parameter") -> Argument:
    """A parameter as typer declares it: what is repeated is a list, and None if it was not written."""
    hint = parameter.hint
    is_list = parameter.is_selection or get_origin(parameter.type) is tuple
    member = str if parameter.is_selection else (*get_args(parameter.type), str)[0]
    kind: Any = GenericAlias(list, (member,)) if is_list else parameter.type
    is_required = parameter.default is Argument.empty
    default = Argument.empty if is_required else None if is_list else parameter.default
    shown: dict[str, Any] = {"help": hint.help, "show_default": not (is_required or default is None)}
    if hint.is_positional:
        return _argument(parameter.name, Annotated[kind, typer.Argument(**shown)], default)
    shown |= {"min": hint.least, "max": hint.most} if kind in (int, float) else {}
    option = typer.Option(*hint.options, **shown)
    return _argument(parameter.name, Annotated[kind if is_required else kind | None, option], default)


def _value(parameter: "Parameter", written: Any) -> Any:
    if parameter.is_selection:
        return _cells(written)
    return tuple(written) if isinstance(written, list) else written


def _cells(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    """Labels by axis, from `axis=label` pairs."""
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
