"""Record and play: for every method, engine and relation, how far what meets the noise moves between neighbours.

Claim: every recorded step moves at most by what was stated of it (the sensitivity that its noise was priced with, or the loss that it
was charged), in the memory engine, DuckDB and PostgreSQL; and a statistic that states .49 of its sensitivity is
found. Methods whose every step draws for each record, tests the data or scales its noise by them have nothing to compare: they are named,
and `verify/attackers.py` goes through their exact laws.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dalenius.core import registry
from dalenius.core.neighbours import Relation, Scope
from dalenius.errors import InternalError
from dalenius.testing import engine_kit
from dalenius.testing.attackers import played_requests
from dalenius.testing.attackers.played_requests import UNDERSTATED, Opened

SEED = 20_26
PLANS, PAIRS, PLANS_UNTIL_FOUND = 10, 10, 40


@contextmanager
def engines(folder: Path) -> Iterator[dict[str, Opened]]:
    """DuckDB, and PostgreSQL where its programs are installed."""
    from tests.engines.postgresql_tables import Tables
    from tests.ledger.conftest import Server, binaries

    opened: dict[str, Opened] = {"duckdb": engine_kit.factories(folder)["duckdb"]}
    with ExitStack() as closed:
        if binaries() is not None:
            place = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
            closed.callback(shutil.rmtree, place, ignore_errors=True)
            server = Server(place)
            closed.callback(server.kill)
            tables = Tables(server)
            closed.callback(tables.close)
            opened["postgresql"] = tables.open
        yield opened


def methods() -> list[str]:
    """Every method that has a promise between any two neighbours."""
    return [name for name, method in registry.every("methods").items() if Scope.EVERYWHERE in method.scopes]


def _attack(results: dict[str, Any], opened: Mapping[str, Opened], plans: int, pairs: int) -> None:
    corners, open_kinds = set(), Counter[str]()
    for method in methods():
        for relation in Relation:
            try:
                moves = played_requests.attack(
                    SEED, method, relation, plans=plans, pairs=pairs, engines=opened
                )
            except InternalError:
                results["refused"].append(f"{method}, {relation}")
                continue
            print(f"inputs: {method}, {relation}: {moves.plays} plays", file=sys.stderr, flush=True)
            results["plays"] += moves.plays
            results["steps_compared"] += sum(moves.compared.values())
            results["moved_too_far"] += len(moves.broken)
            corners |= moves.corners
            open_kinds += moves.left_open
            for kind, ratio in moves.furthest.items():
                results["furthest"][kind] = max(results["furthest"].get(kind, 0.0), ratio)
    results["corners"] += len(corners)
    results["left_open"] = dict(Counter(results["left_open"]) + open_kinds)
    compared = {method for method, _, _ in corners}
    results["methods_without_a_comparison"] = [m for m in methods() if m not in compared]


def run(quick: bool = False) -> dict[str, Any]:
    """All methods under both relations, then the planted faults."""
    results: dict[str, Any] = {
        "plays": 0,
        "steps_compared": 0,
        "corners": 0,
        "moved_too_far": 0,
        "furthest": {},
        "left_open": {},
        "refused": [],
    }
    with tempfile.TemporaryDirectory() as name, engines(Path(name)) as opened:
        results["engines"] = ["memory", *opened]
        _attack(results, opened, PLANS // 5 if quick else PLANS, PAIRS // 2 if quick else PAIRS)
    found = []
    for fault in UNDERSTATED:
        with patch.object(fault.where, "sensitivity", fault.wrong):
            moves = played_requests.attack(
                SEED,
                fault.method,
                Relation.ADD_REMOVE,
                plans=PLANS_UNTIL_FOUND,
                pairs=PAIRS,
                keys=fault.keys,
                is_ended_by_fault=True,
            )
        found.append(bool(moves.broken))
    results["understated_found"] = f"{sum(found)} of {len(found)}"
    results["ok"] = results["moved_too_far"] == 0 and all(found)
    return results
