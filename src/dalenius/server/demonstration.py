"""The demo server: a full count and a synthetic survey, a custodian and an analyst with one-time passwords, ready in
seconds.
"""

import secrets
from pathlib import Path

from dalenius.demo import population, survey
from dalenius.server.accounts import Accounts
from dalenius.server.config import ServerConfig
from dalenius.server.store import StateStore

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

# Both waves are about one panel of persons, so they share one budget.
[[datasets]]
document = "survey/survey-2023.toml"
policy = "survey/policy.toml"
description = "Synthetic: jobs, incomes and hours of 200,000 invented persons in 400 invented municipalities."
defaults = { definition = "zero_concentrated", rho = "0.01" }

[[datasets]]
document = "survey/survey-2024.toml"
policy = "survey/policy.toml"
description = "Synthetic: the next wave of the same panel, with four fifths of the same persons."
defaults = { definition = "zero_concentrated", rho = "0.01" }
"""
_LIST = """\
# Released once, when the server first starts; every table inside it is then free and open to everybody.
title = "Branch, gender and race: the stored list"

[table]
rows = ["branch"]
columns = ["gender"]
layers = ["race"]
margins = "all"
universe = "complete"

[privacy]
definition = "zero_concentrated"
rho = 0.1
"""


def prepare(directory: Path) -> tuple[Path, dict[str, tuple[str, str]]]:
    """Write what is missing; the configuration's path, and name -> (role, password) of users made or renewed now."""
    population.materialise(directory)
    survey.materialise(directory / "survey", ledger="../ledger.sqlite")
    place = directory / CONFIG
    for name, text in ((CONFIG, _TEXT), ("list.toml", _LIST)):
        if not (directory / name).exists():
            (directory / name).write_text(text, encoding="utf-8")
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
