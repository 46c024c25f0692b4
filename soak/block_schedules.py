"""Blocks of a custodian's own function under 10,000 injected schedules: none is answered from another's records, none raises.

The schedules of `dalenius_lab.attackers.block_schedules`, after those that the tests run. Runs in chunks and adds every finished one to
soak/results/block_schedules.json; a run that is stopped goes on where the file stands. A schedule under which something is wrong is recorded
and stops the run.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from dalenius_lab.attackers.block_schedules import first_problem

RESULTS = Path(__file__).parent / "results" / "block_schedules.json"
GOAL, CHUNK, QUICK = 10_000, 250, 20
# The tests have the ones before.
FIRST = 1000


def run(quick: bool = False) -> dict[str, Any]:
    """Go on until the goal is reached; a quick run adds one small chunk. `DALENIUS_SOAK_MINUTES` ends a run after that time."""
    done: dict[str, Any] = {"goal": GOAL, "done": 0, "seconds": 0.0, "problems": []}
    if RESULTS.exists():
        done = json.loads(RESULTS.read_text())
    deadline = time.monotonic() + 60 * float(os.environ.get("DALENIUS_SOAK_MINUTES", "inf"))
    while done["done"] < GOAL and not done["problems"] and time.monotonic() < deadline:
        started, first = time.monotonic(), FIRST + done["done"]
        size = min(QUICK if quick else CHUNK, GOAL - done["done"])
        problem, passed = first_problem(range(first, first + size))
        done["done"] += passed
        done["seconds"] = round(done["seconds"] + time.monotonic() - started, 1)
        done["problems"] += [problem] if problem else []
        draft = RESULTS.with_suffix(".new")
        draft.write_text(json.dumps(done, indent=1) + "\n")
        draft.replace(RESULTS)
        if quick:
            break
    return {"ok": not done["problems"], "is_complete": done["done"] >= GOAL, **done}
