"""Random lives of a ledger on both stores (tests/ledger/life.py), 100,000 steps on each: opened and refused as a model says.

Runs in chunks and adds every finished chunk, with the commit of its source, to soak/results/state.json; a run that is stopped
goes on where the file stands. What is tested are processes that are killed, no power failures, so the folder of temporary files
may lie in memory (`TMPDIR=/dev/shm`), where waiting for the disk costs nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from soak.ledger import ROOT, postgres

RESULTS = ROOT / "soak" / "results" / "state.json"
GOALS = {"sqlite": 100_000, "postgres": 100_000}
LIVES, STEPS = 40, 50


def read() -> dict[str, Any]:
    """What stands so far."""
    if RESULTS.exists():
        return dict(json.loads(RESULTS.read_text()))
    return {"goals": GOALS, "done": dict.fromkeys(GOALS, 0), "chunks": []}


def source() -> str:
    """The last commit that changed what is tested, or nothing where there is no history."""
    command = ["git", "log", "-1", "--format=%h", "--", "src", "tests/ledger/life.py"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def chunk(store: str, seed: int, server: Any, lives: int) -> dict[str, Any]:
    """Lives of one seed; how many steps they took, and what failed."""
    sys.path[:0] = [str(ROOT)]
    from hypothesis import HealthCheck, settings
    from hypothesis import seed as seeded
    from hypothesis.stateful import run_state_machine_as_test
    from tests.ledger.life import Life

    class SoakedLife(Life):
        @staticmethod
        def place() -> tuple[str, Path]:
            folder = Path(tempfile.mkdtemp(prefix="dalenius-life-"))
            return (str(folder / "ledger.db") if server is None else server.empty()), folder

        def teardown(self) -> None:
            try:
                super().teardown()
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

    Life.steps, started, error = 0, time.process_time(), ""
    options = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seeded(seed)(SoakedLife), settings=options)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    seconds = round(time.process_time() - started, 1)
    counted = {"steps": Life.steps, "cpu_seconds": seconds, "error": error}
    return {"store": store, "seed": seed, "source": source(), **counted}


def run(quick: bool = False) -> dict[str, object]:
    """Go on until every goal is reached, the least advanced store first; a quick run adds one small chunk of each."""
    results = read()
    deadline = time.monotonic() + 60 * float(os.environ.get("DALENIUS_SOAK_MINUTES", "inf"))
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        waiting = [store for store in GOALS if store == "sqlite" or server is not None]
        while waiting and time.monotonic() < deadline:
            store = min(waiting, key=lambda name: results["done"][name] / GOALS[name])
            if results["done"][store] >= GOALS[store]:
                break
            if quick:
                waiting.remove(store)
            result = chunk(
                store, len(results["chunks"]), server if store == "postgres" else None, 4 if quick else LIVES
            )
            results["chunks"].append(result)
            if not result["error"]:
                results["done"][store] += result["steps"]
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            if result["error"]:
                return {"ok": False, "failed": result, "done": results["done"]}
    reached = all(results["done"][name] >= goal for name, goal in GOALS.items())
    return {"ok": True, "is_complete": reached, "goals": GOALS, "done": results["done"]}
