"""The demo server: a full count and a synthetic survey, a custodian and an analyst with one-time passwords."""

import secrets
from pathlib import Path

from dalenius.demo import population, survey
from dalenius.demo.files import shipped, write_missing
from dalenius.server.accounts import Accounts
from dalenius.server.config import ServerConfig
from dalenius.server.store import StateStore

CONFIG = "server.toml"


def prepare(directory: Path) -> tuple[Path, dict[str, tuple[str, str]]]:
    """Write what is missing; the configuration's path, and name -> (role, password) of users made or renewed now."""
    population.materialise(directory)
    survey.materialise(directory / "survey", ledger="../ledger.sqlite")
    place = directory / CONFIG
    write_missing(
        directory, {CONFIG: shipped("documents/server.toml"), "list.toml": shipped("documents/server_list.toml")}
    )
    config = ServerConfig.load(place)
    store = StateStore(config.store_location)
    accounts = Accounts(store)
    people = {}
    for name, role in (("custodian", "custodian"), ("analyst", "analyst")):
        password = secrets.token_urlsafe(12)
        if accounts.find(name) is None:
            accounts.create(name, role, password)
        else:
            accounts.set_password(name, password)
        people[name] = (role, password)
    store.close()
    return place, people
