"""Flags in --help: a flag takes no value, so none is shown beside it."""

from typing import Any

from typer.core import TyperGroup


def with_plain_flags(command: Any, ctx: Any) -> Any:
    """The same command, and all below it, without a type beside its flags."""
    for parameter in [*command.params, command.get_help_option(ctx)]:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        with_plain_flags(inner, ctx)
    return command


class Verbs(TyperGroup):
    """The verbs of `dalenius`, looked for one at a time."""

    def get_params(self, ctx: Any) -> Any:
        """Options of `dalenius` itself."""
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of that name."""
        command = super().get_command(ctx, cmd_name)
        return None if command is None else with_plain_flags(command, ctx)
