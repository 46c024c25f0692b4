"""Processes that release about populations and declare at any moment that these share persons, all on one ledger.

Run as a program with one JSON argument, so that the processes it forks carry nothing of the test runner.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from dalenius.core.budget import UNIT, Cost
from dalenius.core.neighbours import Relation
from dalenius.errors import Conflict
from dalenius.ledger import Charge, Ledger

_TRIES = 50
PAIRS = (("a", "b"), ("b", "c"))


def charge(population: str, key: str, units: int, overlaps: Sequence[str] = ()) -> Charge:
    """A request about a population that costs so many units of rho."""
    return Charge(
        population=population,
        relation=Relation.ADD_REMOVE,
        dataset=population,
        version="1",
        key=key,
        request={"key": key},
        definition="zero_concentrated",
        budget={"rho": str(units * UNIT)},
        cost=Cost(relation=Relation.ADD_REMOVE, rho=units * UNIT),
        fingerprint="fingerprint",
        plan_digest="plan",
        overlaps=tuple(overlaps),
    )


def release(ledger: Ledger, population: str, key: str, units: int) -> None:
    """As a curator does it: what was declared meanwhile is refused, and asked again."""
    for _ in range(_TRIES):
        try:
            reservation = ledger.reserve(charge(population, key, units, ledger.reader.overlaps(population)))
            ledger.commit(reservation, key.encode())
            return
        except Conflict as refusal:
            if "Repeat it" not in str(refusal):
                raise
    raise RuntimeError("refused again and again")


def work(config: dict[str, Any], number: int) -> None:
    """Some requests of its own and one of everybody's for each population; two declarations on the way, from either side."""
    draw = random.Random(number)
    places = {"anchor": config["folder"] + "/anchor", "keys": config["folder"] + "/keys"}
    with Ledger.open(config["location"], wait_seconds=60.0, **places) as ledger:
        while time.time() < config["start"]:
            time.sleep(0.001)
        for turn in range(config["requests"]):
            population = "abc"[(turn + number) % 3]
            release(ledger, population, f"{number}-{turn}", draw.randrange(1, 10**6))
            if turn == config["requests"] // 2:
                for pair in draw.sample(PAIRS, 2):
                    ledger.declarations.overlap(*(pair if number % 2 else pair[::-1]), "custodian")
            if turn % 4 == 3:
                release(ledger, population, f"all-{population}", 7)


def main(config: dict[str, Any]) -> None:
    """Fork the workers, let them start together, and fail if one of them does."""
    config["start"] = time.time() + 0.5
    children = []
    for number in range(config["workers"]):
        child = os.fork()
        if not child:
            try:
                # Nobody is left behind where the parent is killed.
                signal.alarm(120)
                work(config, number)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    sys.exit(int(any(os.waitpid(child, 0)[1] for child in children)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
