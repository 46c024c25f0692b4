"""Record and play: for every method, engine and relation, how far what meets the noise moves between neighbours.

Claim: every recorded step moves at most by what was stated of it (the sensitivity that its noise was priced with, or the loss that it
was charged), in the memory engine, DuckDB, PostgreSQL and (plans of each method and relation until a step is compared) Spark; and .49 of a sensitivity, of
the change of a score or of the norm of a strategy is found under both relations. Methods whose every step tests the data, or scales its noise
by them, have nothing to compare: they are named, and their exact laws between neighbours are gone through here instead.
"""

import os
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
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation, Scope
from dalenius.errors import InternalError
from dalenius.testing import engine_kit
from dalenius_lab.attackers import neighbour_fuzzer, played_requests
from dalenius_lab.attackers.planted import UNDERSTATED, Fault
from dalenius_lab.attackers.played_requests import Columns, Opened

SEED = 20_26
PLANS, PAIRS, PLANS_UNTIL_FOUND = 6, 10, 40


@contextmanager
def spark(folder: Path) -> Iterator[dict[str, Opened]]:
    """One session of Spark with a small heap, where there is Java."""
    from tests.engines.spark_cluster import SMALL

    from dalenius.engines import _spark_session
    from dalenius.engines.spark import SparkSource

    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        yield {}
        return

    def opened(domain: Domain, columns: Columns, secret: bytes) -> Source:
        return SparkSource(domain, f"spark://local?path={engine_kit.parquet(columns, folder)}", secret)

    small = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": SMALL}
    quick = {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}
    with patch.dict(_spark_session._START, small), patch.dict(_spark_session._SETTINGS, quick):
        try:
            yield {"spark": opened}
        finally:
            _spark_session.stop()


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
    """Every method that has a guarantee between any two neighbours."""
    return [name for name, method in registry.every("methods").items() if Scope.ALL_DATA in method.scopes]


def _attack(
    results: dict[str, Any], opened: Mapping[str, Opened], slow: Mapping[str, Opened], plans: int, pairs: int
) -> None:
    corners, open_kinds = set(), Counter[str]()
    for method in methods():
        for relation in Relation:
            try:
                moves = played_requests.attack(
                    SEED, method, relation, plans=plans, pairs=pairs, engines=opened, slow=slow
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
    results["corners_of_each_engine"] = dict(sorted(Counter(engine for _, engine, _ in corners).items()))
    results["methods_that_an_engine_did_not_compare"] = sorted(
        {
            f"{method}, {relation}, {engine}"
            for method, _, relation in corners
            for engine in results["engines"]
            if (method, engine, relation) not in corners
        }
    )
    results["exact_laws_instead"] = {m: _exact(m, plans) for m in methods() if m not in compared}


def _exact(method: str, plans: int) -> dict[str, Any]:
    """Exact losses between neighbours of a method that leaves recorded draws nothing to compare."""
    findings = neighbour_fuzzer.fuzz(SEED, plans, method=method)
    return {
        "triples": findings.triples,
        "largest_loss_to_charge": max(findings.worst.values()),
        "above_the_charge": len(findings.broken),
    }


def _is_found(fault: Fault, relation: Relation) -> bool:
    """Whether a planted fault is found, and nothing is found without it."""
    corner: dict[str, Any] = {"keys": fault.corner.keys, "pairs": PAIRS}
    if played_requests.attack(SEED, fault.corner.method, relation, plans=2, **corner).broken:
        return False
    with fault.planted():
        moves = played_requests.attack(
            SEED, fault.corner.method, relation, plans=PLANS_UNTIL_FOUND, is_ended_by_fault=True, **corner
        )
    return bool(moves.broken)


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
    with tempfile.TemporaryDirectory() as name, engines(Path(name)) as opened, spark(Path(name)) as slow:
        results["engines"] = ["memory", *opened, *slow]
        _attack(results, opened, slow, PLANS // 3 if quick else PLANS, PAIRS // 2 if quick else PAIRS)
    found = [_is_found(fault, relation) for fault in UNDERSTATED for relation in Relation]
    results["understated_found"] = f"{sum(found)} of {len(found)}"
    exact = results["exact_laws_instead"].values()
    results["why_exact_laws"] = "every step tests the data, or scales its noise by them: no distance is stated"
    results["ok"] = (
        results["moved_too_far"] == 0
        and not results["methods_that_an_engine_did_not_compare"]
        and all(found)
        and not any(law["above_the_charge"] for law in exact)
    )
    return results
