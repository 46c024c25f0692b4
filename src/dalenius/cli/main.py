"""The command `dalenius`: one verb per file, slow imports inside the verbs so that --help is instant."""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer import Option

from dalenius.cli import audit, infer, inspect, ledger, perturbation, policy
from dalenius.cli.adjust import adjust
from dalenius.cli.check import check
from dalenius.cli.demo import demo
from dalenius.cli.describe import describe
from dalenius.cli.flags import Verbs
from dalenius.cli.merge import merge
from dalenius.cli.output import complain, translated
from dalenius.cli.plan import plan
from dalenius.cli.register import register
from dalenius.cli.release import release
from dalenius.cli.serve import serve
from dalenius.cli.show import show
from dalenius.cli.start import start

app = typer.Typer(
    name="dalenius",
    help="Protected tables and estimates from confidential microdata, with every bit of privacy accounted for.",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for verb in (demo, start, describe, check, register, plan, release, show, merge, adjust, serve):
    app.command()(verb)
_GROUPS = {
    infer: "What a release means: intervals, tests and models that know the noise.",
    audit: "A claim checked from outside: exact losses, samples, guesses, definitions.",
    perturbation: "Perturbation tables p(a, b): shown, exchanged with ptable and cellKey, judged exactly.",
    policy: "Which policy is in force, and putting another one in force.",
    inspect: "The custodian's view: exact values, under a banner, a ledger line each.",
    ledger: "What was spent: statements, verification, grants and quotas.",
}
for group, words in _GROUPS.items():
    app.add_typer(group.app, name=group.__name__.rpartition(".")[2], help=words)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        version()
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[bool, Option("--version", help="Print the version.", is_eager=True, callback=_print_version)] = False,
    extensions: Annotated[
        list[str] | None,
        Option(
            "--extension",
            metavar="NAME==VERSION",
            help="Read releases with the extensions of this installed distribution; what is released follows the "
            "policy alone. May be repeated.",
        ),
    ] = None,
) -> None:
    """Protected tables and estimates from confidential microdata, with every bit of privacy accounted for."""
    if extensions:
        from dalenius.cli.check import admit

        admit(extensions)


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
