"""Processor time per grant beside that of an older source: what binding the state to the chain costs.

Each measurement is a process of its own that makes a fixed number of grants after some that are not counted. Old and new
take turns, so that a busy hour falls on both. Reported are medians over the turns, in microseconds per grant: the
processor time of the process, that of the database server where there is one, and the time on the clock, which says
something on a quiet machine only. `ratio` is grants per second of processor time, new over old; the aim is .9.
"""

import json
import os
import resource
import runpy
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "67509ef"
"""The last source whose tables nothing signed."""
CLIENTS = (1, 16, 64)
_PARTS = ("processor", "server", "clock")


def compare(places: dict[str, Callable[[str], str]], turns: int, grants: int) -> dict[str, Any]:
    """Both sources on each store, with so many clients each."""
    with tempfile.TemporaryDirectory(prefix="dalenius-reference-") as folder:
        command = ["git", "archive", REFERENCE, "src"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if found.returncode:
            return {"skipped": f"needs the history of the source with its commit {REFERENCE}"}
        with tarfile.open(fileobj=BytesIO(found.stdout)) as archive:
            archive.extractall(folder, filter="data")
        sources = {"old": Path(folder) / "src", "new": ROOT / "src"}
        return {
            store: [_compare(sources, place, clients, turns, grants) for clients in CLIENTS]
            for store, place in places.items()
        }


def _compare(
    sources: dict[str, Path], place: Callable[[str], str], clients: int, turns: int, grants: int
) -> dict[str, Any]:
    server = getattr(place, "__self__", None)
    results: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for turn in range(turns):
        for name in sorted(sources, reverse=turn % 2 == 0):
            location = place(f"{name}{clients}-{turn}")
            options = json.dumps([location, clients, grants, server.process.pid if server else 0])
            done = subprocess.run(
                [sys.executable, "-m", "bench._ledger_cost", options],
                env={**os.environ, "PYTHONPATH": str(sources[name])},
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            results[name].append(json.loads(done.stdout))
    middle = {
        name: {part: round(median(one[part] for one in several)) for part in _PARTS}
        for name, several in results.items()
    }
    return {"clients": clients, "microseconds_per_grant": middle, **_ratios(results)}


def _ratios(results: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Grants per second of processor time and on the clock, new over old: medians over the turns, and every turn."""
    turns = list(zip(results["old"], results["new"], strict=True))
    worked = [(o["processor"] + o["server"]) / (n["processor"] + n["server"]) for o, n in turns]
    waited = [o["clock"] / n["clock"] for o, n in turns]
    return {
        "ratio": round(median(worked), 2),
        "ratios": sorted(round(ratio, 2) for ratio in worked),
        "ratio_of_clocks": round(median(waited), 2),
    }


def measure(location: str, clients: int, grants: int, server: int) -> dict[str, float]:
    """Microseconds per grant of this process, of the server's processes, and on the clock."""
    from dalenius.ledger import Ledger

    charge = runpy.run_path(str(ROOT / "tests" / "ledger" / "load.py"))["charge"]
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(location, anchor=Path(folder) / "anchor", keys=Path(folder) / "keys")
        ledger.declarations.register("people", "census", "1", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", 900, 0, by="custodian")
        each = grants // clients
        wanted = [[charge(f"{n}-{turn}", 1000) for turn in range(each * 6 // 5)] for n in range(clients)]
        for part in (slice(each, None), slice(each)):
            started = _clocks(server)
            workers = [threading.Thread(target=_reserve_all, args=(ledger, mine[part])) for mine in wanted]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            ended = _clocks(server)
        ledger.close()
    return {name: (b - a) / (each * clients) for name, a, b in zip(_PARTS, started, ended, strict=True)}


def _reserve_all(ledger: Any, charges: list[Any]) -> None:
    for charge in charges:
        ledger.reserve(charge)


def _clocks(server: int) -> tuple[float, float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e6 * (used.ru_utime + used.ru_stime), _of_group(server), 1e6 * time.perf_counter()


def _of_group(server: int) -> float:
    """Processor time of the living processes that a server started, in microseconds."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat") if server else ():
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == server:
            ticks += int(fields[11]) + int(fields[12])
    return 1e6 * ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
