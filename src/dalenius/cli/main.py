"""The command `dalenius`: one verb per file, slow imports inside the verbs so that --help is instant."""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from dalenius.cli import (
    adjust,
    audit,
    check,
    demo,
    describe,
    infer,
    inspect,
    ledger,
    merge,
    perturbation,
    plan,
    policy,
    register,
    release,
    serve,
    show,
    start,
)
from dalenius.cli.flags import Verbs
from dalenius.cli.output import complain, translated

app = typer.Typer(
    name="dalenius",
    help="Protected tables and estimates from confidential microdata, with every bit of privacy accounted for.",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(start.start)
app.command()(describe.describe)
app.command()(check.check)
app.command()(register.register)
app.command()(plan.plan)
app.command()(release.release)
app.command()(show.show)
app.command()(merge.merge)
app.command()(adjust.adjust)
app.command()(serve.serve)
_GROUPS = {
    "infer": (infer.app, "What a release means: intervals, tests and models that know the noise."),
    "audit": (audit.app, "A claim checked from outside: exact losses, samples, guesses, definitions."),
    "perturbation": (
        perturbation.app,
        "Perturbation tables p(a, b): shown, exchanged with ptable and cellKey, judged exactly.",
    ),
    "policy": (policy.app, "Which policy is in force, and putting another one in force."),
    "inspect": (inspect.app, "The custodian's view: exact values, under a banner, a ledger line each."),
    "ledger": (ledger.app, "What was spent: statements, verification, grants and quotas."),
}
for group, (verbs, words) in _GROUPS.items():
    app.add_typer(verbs, name=group, help=words)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Protected tables and estimates from confidential microdata, with every bit of privacy accounted for."""


@app.command()
def version() -> None:
    """Print the version."""
    from dalenius.version import VERSION

    typer.echo(VERSION)


def run() -> None:
    """Entry point: errors become one line and an exit code, never a traceback."""
    # Our matrices are small, and threads of the linear algebra would mostly wait for one another; who sets it is heard.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows a question mark: no text makes a command fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        refused = translated(error)
        complain(refused, as_json="--json" in sys.argv)
        sys.exit(refused.exit_code)


if __name__ == "__main__":
    run()
