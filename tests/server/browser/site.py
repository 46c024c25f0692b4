"""A real server on loopback with a small population, for journeys in a real browser."""

import asyncio
import csv
import random
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

PASSWORDS = {
    "carla": "custodian-password",
    "anna": "analyst-password-1",
    "nina": "newcomer-password",
    "otto": "auditor-password-1",
}
ROLES = {"carla": "custodian", "anna": "analyst", "nina": "analyst", "otto": "auditor"}
PERSONS = 6_000

DATASET = """
[dataset]
name = "commuters"
title = "Commuters of Ridgeford"
population = "ridgeford"
version = "2026"
source = "commuters.csv"
public = true

[unit]
relation = "add-remove"

[variables.mode]
label = "Means of transport"
categories = ["bicycle", "bus", "car", "on foot"]
[variables.mode.hierarchies.effort]
"own effort" = ["bicycle", "on foot"]
"motor" = ["bus", "car"]

[variables.age]
label = "Age group"
categories = ["15-24", "25-44", "45-64", "65 and over"]

[variables.district]
label = "District"
sensitive = true
categories = ["Abbey", "Castle", "Market", "Riverside", "Station"]

[variables.minutes]
label = "Minutes on the way"
bounds = [0, 120]
step = 1
unit = "minutes"
"""

POLICY = """
population = "ridgeford"

[budget]
rho = 4
delta = 1e-6

[default_quota]
rho = 0.5
delta = 1e-6
"""

LIST = """
dataset = "open.toml"

[table]
rows = ["mode", "age"]
columns = ["district"]

[privacy]
definition = "pure"
epsilon = 1
"""

SERVER = """
title = "Ridgeford tables"
ledger = "ledger.sqlite"
policy = "policy.toml"
state = "state"
workers = 1
secure_cookies = false
tick_milliseconds = 50
languages = ["en", "de"]

[limits]
sign_ins_per_minute = 600
requests_per_minute = 60000
anonymous_per_minute = 60000
releases_per_minute = 600

[[datasets]]
document = "dataset.toml"
description = "How the inhabitants of a small town get to work. Invented."
defaults = { definition = "pure", epsilon = "0.5" }

[[datasets]]
document = "open.toml"
policy = "open_policy.toml"
mode = "list"
list = "list.toml"
description = "The same town in an earlier year, as a stored list."
"""


@dataclass
class Distance:
    """The way between browser and server: whatever the builder sends arrives so many seconds later."""

    app: Any = None
    seconds: float = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Wait, then pass on."""
        if self.seconds and scope.get("path", "").startswith("/d/"):
            await asyncio.sleep(self.seconds)
        await self.app(scope, receive, send)


@dataclass
class Site:
    """The running server."""

    address: str
    services: Any
    passwords: dict[str, str]
    server: uvicorn.Server
    thread: threading.Thread
    distance: Distance = field(default_factory=Distance)

    def stop(self) -> None:
        """End the server and wait for it."""
        self.server.should_exit = True
        self.thread.join(20)


def write_files(folder: Path) -> Path:
    """Microdata and documents of the invented town."""
    draw = random.Random(7)
    with (folder / "commuters.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mode", "age", "district", "minutes"])
        for _ in range(PERSONS):
            age = draw.choices(["15-24", "25-44", "45-64", "65 and over"], [3, 6, 5, 1])[0]
            young = age == "15-24"
            mode = draw.choices(["bicycle", "bus", "car", "on foot"], [5, 4, 1, 3] if young else [2, 2, 5, 1])[0]
            district = draw.choices(["Abbey", "Castle", "Market", "Riverside", "Station"], [4, 3, 3, 2, 0.01])[0]
            writer.writerow([mode, age, district, min(int(draw.expovariate(1 / 24)), 120)])
    (folder / "dataset.toml").write_text(DATASET)
    (folder / "policy.toml").write_text(POLICY)
    earlier = DATASET.replace('name = "commuters"', 'name = "open-commuters"').replace(
        '"ridgeford"', '"ridgeford-2020"'
    )
    # A list can be summed over a variable only if no row is dropped on it.
    for first in ("bicycle", "15-24", "Abbey"):
        earlier = re.sub(rf'(categories = \["{first}".*)', rf'\1\nmissing = "{first}"\nunseen = "{first}"', earlier)
    (folder / "open.toml").write_text(earlier.replace("Commuters of Ridgeford", "Commuters of Ridgeford, 2020"))
    (folder / "open_policy.toml").write_text(POLICY.replace("ridgeford", "ridgeford-2020"))
    (folder / "list.toml").write_text(LIST)
    (folder / "server.toml").write_text(SERVER)
    return folder / "server.toml"


def as_persons(place: Path) -> None:
    """Commuters as persons with two rows at most."""
    document, rows = place.parent / "dataset.toml", place.parent / "commuters.csv"
    unit = 'relation = "add-remove"\nid = "person"\nname = "person"\nmax_rows = 2'
    document.write_text(document.read_text().replace('relation = "add-remove"', unit))
    head, *lines = rows.read_text().splitlines()
    numbered = [f"person,{head}", *(f"{number // 2},{line}" for number, line in enumerate(lines))]
    rows.write_text("\n".join(numbered) + "\n")


def start(folder: Path, *, has_persons: bool = False) -> Site:
    """Write everything, register the data set, and serve it."""
    place = write_files(folder)
    if has_persons:
        as_persons(place)
    config = ServerConfig.load(place)
    app = create_app(config)
    services = app.state.services
    for name, role in ROLES.items():
        services.accounts.create(name, role, PASSWORDS[name])
    carla = User("carla", Role.CUSTODIAN)
    services.custody.register(carla, "commuters")
    services.custody.register(carla, "open-commuters")
    services.reading.release_list(carla, "open-commuters")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    distance = Distance(app)
    server = uvicorn.Server(uvicorn.Config(distance, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(300):
        if server.started:
            return Site(f"http://127.0.0.1:{port}", services, PASSWORDS, server, thread, distance)
        time.sleep(0.05)
    raise RuntimeError("the server did not start")
