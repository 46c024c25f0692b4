"""The ledger under long load: 64 processes with 10,000 requests each on both stores, and 1,000 rounds of SIGKILL.

Runs in chunks, each on a ledger of its own, and adds every finished chunk to soak/results/ledger.json; a run that is
stopped goes on where the file stands. A chunk that does not balance is recorded and stops the run.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "ledger"
RESULTS = ROOT / "soak" / "results" / "ledger.json"
WORKERS = 64
GOALS = {
    "load_sqlite": WORKERS * 10_000,
    "load_postgres": WORKERS * 10_000,
    "kill_clients_sqlite": 1000,
    "kill_clients_postgres": 100,
    "kill_server_postgres": 50,
}
# Requests of each worker, rounds, or kills in one chunk: a few minutes each.
CHUNK = {
    "load_sqlite": 1000,
    "load_postgres": 500,
    "kill_clients_sqlite": 100,
    "kill_clients_postgres": 20,
    "kill_server_postgres": 5,
}
QUICK = {
    "load_sqlite": 10,
    "load_postgres": 5,
    "kill_clients_sqlite": 10,
    "kill_clients_postgres": 3,
    "kill_server_postgres": 1,
}


def read() -> dict[str, Any]:
    """What stands so far."""
    if RESULTS.exists():
        return dict(json.loads(RESULTS.read_text()))
    return {"goals": GOALS, "done": dict.fromkeys(GOALS, 0), "chunks": []}


def write(results: dict[str, Any]) -> None:
    """Replace the file as a whole, so that a stop leaves the old one or the new one."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    draft = RESULTS.with_suffix(".new")
    draft.write_text(json.dumps(results, indent=1) + "\n")
    draft.replace(RESULTS)


@contextmanager
def postgres() -> Iterator[Any]:
    """A server of our own, or None where PostgreSQL is not installed."""
    parts = runpy.run_path(str(TESTS / "conftest.py"))
    if parts["binaries"]() is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    server = parts["Server"](folder)
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def chunk(name: str, size: int, seed: str, server: Any, folder: Path) -> dict[str, Any]:
    """One chunk; the books must balance at its end, and after every round of kills."""
    location = server.database(f"soak_{seed}") if "postgres" in name else str(folder / "ledger.db")
    config: dict[str, Any] = {"location": location, "folder": str(folder), "seed": seed, "limit": 10**15}
    if name.startswith("load"):
        # About half of what is asked for can be paid, so that the last units are fought over.
        limit = WORKERS * size * 10**6 // 2 + 7
        config |= {"job": "load", "workers": WORKERS, "requests": size, "lease": 600, "limit": limit}
        # Processes come and go in the middle: three of four are replaced, and open the ledger again and again.
        config |= {"lives": 5, "stay": max(size // 20, 2)}
    elif name.startswith("kill_clients"):
        config |= {"job": "kill", "workers": 4, "rounds": size, "busy": 2, "stay": 5}
    else:
        config |= {"job": "load", "workers": 8, "requests": 100 * size, "lease": 600}
    process = subprocess.Popen(
        [sys.executable, str(TESTS / "load.py"), json.dumps(config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    kills = 0
    if name == "kill_server_postgres":
        ended = threading.Event()
        threading.Thread(target=lambda: (process.wait(), ended.set()), daemon=True).start()
        has_begun = runpy.run_path(str(TESTS / "load.py"))["has_begun"]
        while not ended.wait(1.0) and kills < size:
            if not has_begun(folder, seed):
                continue
            server.kill()
            server.start()
            kills += 1
    out, err = process.communicate()
    if process.returncode:
        return {"ok": False, "error": err.strip().splitlines()[-1:] or ["stopped"]}
    result = json.loads(out)
    keep = ("limit", "spent", "charged", "released", "charges", "unfinished", "lines", "problems", "grants")
    kept = {k: result[k] for k in (*keep, "refused", "rounds", "acknowledged", "contradictions") if k in result}
    balanced = result["spent"] == result["charged"] <= result["limit"] and not result["problems"]
    whole = name.startswith("kill_clients") or result["released"] == result["charged"]
    clean = not any(result.get("codes", ())) and not result.get("contradictions")
    return {"ok": balanced and whole and clean, **kept, **({"server_kills": kills} if kills else {})}


def amount(name: str, size: int, result: dict[str, Any]) -> int:
    """How much of the goal a chunk is."""
    if name.startswith("load"):
        return WORKERS * size
    return int(result.get("server_kills", 0)) if name == "kill_server_postgres" else size


def run(quick: bool = False) -> dict[str, object]:
    """Go on until every goal is reached, the least advanced kind first; a quick run adds one small chunk of each.

    `DALENIUS_SOAK_MINUTES` ends a run after the chunk in which that time is reached.
    """
    results = read()
    minutes = float(os.environ.get("DALENIUS_SOAK_MINUTES", "inf"))
    deadline = time.monotonic() + 60 * minutes
    with postgres() as server:
        kinds = [name for name in GOALS if server is not None or "postgres" not in name]
        waiting = list(kinds)
        while waiting and time.monotonic() < deadline:
            name = min(waiting, key=lambda kind: results["done"].get(kind, 0) / GOALS[kind])
            if results["done"].get(name, 0) >= GOALS[name]:
                break
            if quick:
                waiting.remove(name)
            size = QUICK[name] if quick else CHUNK[name]
            result = _recorded(results, name, size, server)
            if not result["ok"]:
                return {"ok": False, "failed": name, "goals": GOALS, "done": results["done"]}
    reached = all(results["done"].get(name, 0) >= goal for name, goal in GOALS.items())
    return {"ok": True, "is_complete": reached, "goals": GOALS, "done": results["done"]}


def _recorded(results: dict[str, Any], name: str, size: int, server: Any) -> dict[str, Any]:
    """Run a chunk and write down what came of it."""
    folder = Path(tempfile.mkdtemp(prefix="dalenius-soak-"))
    started = time.perf_counter()
    try:
        seed = f"{len(results['chunks'])}_{int(time.time())}"
        result = chunk(name, size, seed, server, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.perf_counter() - started, 1)
    results["chunks"].append({"kind": name, "size": size, "seconds": seconds, **result})
    if result["ok"]:
        results["done"][name] = results["done"].get(name, 0) + amount(name, size, result)
    write(results)
    return result
