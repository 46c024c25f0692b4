"""`dalenius serve CONFIG`: the table server, in as many worker processes as the configuration says."""

from contextlib import closing
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from dalenius.cli.output import say
from dalenius.errors import DocumentError, UnknownName

if TYPE_CHECKING:
    from dalenius.server.config import ServerConfig


def serve(
    config: Annotated[Path | None, Argument(help="Server configuration (TOML).")] = None,
    demo: Annotated[bool, Option("--demo", help="Serve the demo population with two demo users.")] = False,
    directory: Annotated[Path, Option(help="Where the demo keeps its files.")] = Path("demo-server"),
    host: Annotated[str | None, Option(help="Instead of the configured address.")] = None,
    port: Annotated[int | None, Option(help="Instead of the configured port.")] = None,
    workers: Annotated[int | None, Option(min=1, help="Instead of the configured number.")] = None,
    add_user: Annotated[str, Option(help="NAME:ROLE; print a one-time password and stop.")] = "",
    reset_password: Annotated[str, Option(help="NAME; print a new one-time password and stop.")] = "",
    approval_above: Annotated[
        str, Option(help="POPULATION:RHO, or POPULATION:none; set when a second person approves, and stop.")
    ] = "",
) -> None:
    """Serve protected tables in the browser and over HTTP."""
    from dalenius.server.config import ServerConfig

    if demo:
        from dalenius.server.demonstration import prepare

        place, people = prepare(directory)
    elif config is not None:
        place, people = config, {}
    else:
        raise DocumentError("Name a configuration file, or use --demo.")
    settings = ServerConfig.load(place)
    tasks = ((_add_user, add_user), (_reset_password, reset_password), (_set_approval, approval_above))
    for task, text in tasks:
        if text:
            task(settings, text)
            return
    _check(settings)
    from dalenius.server import logs
    from dalenius.server.supervisor import serve as run

    host, port = host or settings.host, settings.port if port is None else port
    say((settings.title, "bold"), " on ", (f"http://{host}:{port}", "bold"), " (Ctrl+C stops it)")
    for name, (role, password) in people.items():
        say(f"  {role:9} ", (name, "bold"), "  password ", (password, "bold"), "  (shown this once)")
    logs.configure()
    raise typer.Exit(run(settings, host, port, workers or settings.workers))


def _add_user(settings: "ServerConfig", given: str) -> None:
    from dalenius.server.accounts import Accounts
    from dalenius.server.store import StateStore

    name, _, role = given.partition(":")
    password = token_urlsafe(15)
    with closing(StateStore(settings.store_location)) as store:
        Accounts(store).create(name, role, password)
    typer.echo(f"{name} ({role}): {password}")


def _reset_password(settings: "ServerConfig", name: str) -> None:
    from dalenius.server.accounts import Accounts
    from dalenius.server.jobs import Queue
    from dalenius.server.releasing import renewed
    from dalenius.server.store import StateStore

    password = token_urlsafe(15)
    with closing(StateStore(settings.store_location)) as store:
        accounts = Accounts(store)
        names = [user.name for user in accounts.users()]
        UnknownName.check("user", name, names)
        accounts.set_password(name, password, by="")
        Queue(store, settings.tick).end_all(name, renewed(name))
    typer.echo(f"{name}: {password}")


def _set_approval(settings: "ServerConfig", given: str) -> None:
    """The rule that one custodian alone cannot weaken from the browser."""
    from dalenius.server.operations import RequestService

    population, _, rho = given.rpartition(":")
    desk = RequestService(settings)
    desk.ledger.declarations.approval(population, None if rho == "none" else rho, by="command line")
    desk.close()
    typer.echo(f"{population}: a second person approves above rho {rho}")


def _check(settings: "ServerConfig") -> None:
    """Refuse documents that are missing or wrong here, where it is one line, and not in every worker."""
    from dalenius.spec.load import load_dataset, load_policy, load_request

    for entry in settings.datasets:
        load_dataset(settings.path(entry.document))
        if entry.list is not None:
            load_request(settings.path(entry.list))
        if entry.policy or settings.policy:
            load_policy(settings.path(str(entry.policy or settings.policy)))
