"""A health register: visits and stays of persons in two tables, each person protected as a whole. Run it: `python examples/health_register.py`."""

import random
import tempfile
from pathlib import Path

from dalenius import Curator, inference

DATASET = """
[dataset]
name = "patients"
population = "residents"
source = "visits.csv"

[unit]
id = "person"                       # a person counts once, with all visits and stays

[tables.stays]
source = "stays.csv"                # joined on the person

[records.day]
dates = ["2025-01-01", "2025-12-31"]

[records.cost]
bounds = [0, 500]
step = 1

[records.district]
categories = ["north", "south", "west"]

[records.length]
table = "stays"
categories = ["short", "long"]

[variables.visits]
label = "Visits in 2025"
feature = { take = "count" }
bounds = [0, 20]

[variables.spent]
label = "Cost in 2025"
feature = { take = "sum", of = "cost" }
bounds = [0, 2000]                  # of one person: more is counted as 2,000
unit = "crowns"

[variables.home]
label = "District of the first visit"
feature = { take = "first", of = "district", by = "day" }

[variables.long_stay]
label = "Had a long stay"
feature = { take = "any", where = { length = "long" } }
"""
COUNTS = {
    "dataset": "dataset.toml",
    "title": "Persons by district and long stay",
    "table": {"rows": ["home"], "columns": ["long_stay"]},
    "privacy": {"definition": "zero_concentrated", "rho": "0.1"},
}
COSTS = {
    "dataset": "dataset.toml",
    "title": "Mean cost per person",
    "table": {"rows": ["home"], "measure": "mean", "of": "spent"},
    "privacy": {"definition": "zero_concentrated", "rho": "0.1"},
}


def write(folder: Path) -> None:
    """Rows as a register has them: several visits per person, and fewer stays."""
    draw = random.Random(1)
    visits, stays = ["person,day,district,cost"], ["person,length"]
    for person in range(4000):
        district = draw.choice(["north", "south", "south", "west"])
        for _ in range(draw.randrange(1, 6)):
            day = f"2025-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
            visits.append(f"{person},{day},{district},{int(draw.expovariate(1 / 120))}")
        if draw.random() < 0.15:
            stays.append(f"{person},{draw.choice(['short', 'short', 'long'])}")
    _ = (folder / "visits.csv").write_text("\n".join(visits) + "\n")
    _ = (folder / "stays.csv").write_text("\n".join(stays) + "\n")
    _ = (folder / "dataset.toml").write_text(DATASET)


def main() -> None:
    """Declare, register, release two tables, and compare two districts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        with Curator.open(folder / "dataset.toml", ledger=folder / "ledger.sqlite") as curator:
            curator.register(by="custodian")
            print(curator.release(COUNTS))
            costs = curator.release(COSTS)
            print(costs)
            print(inference.difference(costs, {"home": "north"}, {"home": "south"}))
            print(f"Left: {curator.left}")


if __name__ == "__main__":
    main()
