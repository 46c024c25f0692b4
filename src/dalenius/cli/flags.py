"""The verbs of a command, some of them of other distributions; flags in --help without a type beside them."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

# Verbs of `dalenius-lab`, named where it is not installed.
LABORATORY = ("attack", "reproduce", "audit.samples", "audit.guesses")


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the verbs that installed distributions add, by name; those of a group have its name before a dot."""
    return {entry.name: entry for entry in entry_points(group="dalenius.verbs")}


def command_of(function: Callable[..., None], name: str, ctx: Any) -> Any:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(function)
    return with_plain_flags(typer.main.get_command(app), ctx)


def _hide_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def with_plain_flags(command: Any, ctx: Any) -> Any:
    """The same command, and all below it, without a type beside its flags."""
    _hide_types([*command.params, command.get_help_option(ctx)])
    for inner in getattr(command, "commands", {}).values():
        with_plain_flags(inner, ctx)
    return command


def signed(
    command: Callable[..., None], own: Iterable[Parameter], *, name: str, words: str | None
) -> Callable[..., None]:
    """Return a command with further parameters after its first one, in the place of those that it takes as `**`."""
    first, *others, _ = signature(command).parameters.values()
    ordered = sorted([first, *own, *others], key=lambda parameter: parameter.default is not Parameter.empty)
    command.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    command.__name__, command.__doc__ = name, words
    return command


class Verbs(TyperGroup):
    """Verbs, looked for one at a time: our own, then those that installed distributions add under the same prefix."""

    prefix: ClassVar[str] = ""

    def get_params(self, ctx: Any) -> Any:
        return _hide_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *sorted(self._added())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb of that name, or None; refuse one whose distribution is not installed."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in self._added():
            return command_of(self._added()[cmd_name].load(), cmd_name, ctx)
        if command is None and self.prefix + cmd_name in LABORATORY:
            from dalenius.errors import MissingDistribution

            raise MissingDistribution(cmd_name, "dalenius-lab")
        return None if command is None else with_plain_flags(command, ctx)

    def _added(self) -> dict[str, EntryPoint]:
        size = len(self.prefix)
        ours = {name[size:]: entry for name, entry in _installed().items() if name.startswith(self.prefix)}
        return {name: entry for name, entry in ours.items() if "." not in name}
