"""The demo server: the demo population, a custodian and an analyst with one-time passwords, ready in seconds."""

import secrets
from pathlib import Path

from dalenius.demo import population
from dalenius.server.accounts import Accounts
from dalenius.server.config import ServerConfig
from dalenius.server.store import Store

CONFIG = "server.toml"
_TEXT = """\
# The demo server. Everything it keeps is beside this file; delete the folder to begin again.
title = "Dalenius demo"
ledger = "ledger.sqlite"
policy = "policy.toml"
state = "state"
workers = 2
register_on_start = true
secure_cookies = false      # the demo speaks plain HTTP on this machine only
languages = ["en", "de"]

[[datasets]]
document = "dataset.toml"
description = "Every active member of four US services in 2010, from public counts."
defaults = { definition = "pure", epsilon = "0.1" }
list = "list.toml"
"""
_LIST = """\
# Released once, when the server first starts; every table inside it is then free and open to everybody.
title = "Branch, gender and race: the stored list"

[table]
rows = ["branch"]
columns = ["gender"]
wafers = ["race"]
margins = "all"

[privacy]
definition = "zero_concentrated"
rho = 0.1
"""


def prepare(directory: Path) -> tuple[Path, dict[str, tuple[str, str]]]:
    """Write what is missing; the configuration's path, and name -> (role, password) of users made or renewed now."""
    population.materialise(directory)
    place = directory / CONFIG
    for name, text in ((CONFIG, _TEXT), ("list.toml", _LIST)):
        if not (directory / name).exists():
            (directory / name).write_text(text, encoding="utf-8")
    config = ServerConfig.load(place)
    store = Store(config.store_location)
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
