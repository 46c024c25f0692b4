"""Grants per second as a multiple of this machine's bare fsync rate, and latency at 16 and 64 clients.

A grant is one reservation: checked, charged, chained and on disk before it is answered. Clients are threads of one
server process, which is how the writer gets something to batch; separate processes are measured beside them. The bare
rate is one small append and one fsync at a time, measured before and after every run because disks are moody.

A virtual disk may acknowledge an fsync in 0.2 ms without having written anything; then the processor is what limits
both numbers. So the same is measured once more with every fsync slowed down to what a disk needs that really writes
(a small library loaded before all others; bare rate, SQLite and PostgreSQL alike wait in it).

`cost_of_state` compares grants with those of the last source whose tables nothing signed (`_ledger_cost`).
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

from bench._ledger_cost import compare

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "ledger"
MOST = 120_000
SLOW_MICROSECONDS = 2000
SLOW_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int fsync(int file) { usleep(DELAY); return ((int (*)(int)) dlsym(RTLD_NEXT, "fsync"))(file); }
int fdatasync(int file) { usleep(DELAY); return ((int (*)(int)) dlsym(RTLD_NEXT, "fdatasync"))(file); }
"""


def fsync_rate(folder: Path, seconds: float) -> float:
    """Appends of one page with an fsync each, per second."""
    descriptor = os.open(folder / "fsync", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        os.write(descriptor, b"\0" * 4096)
        os.fsync(descriptor)
        count += 1
    os.close(descriptor)
    return count / (time.perf_counter() - started)


def threads(location: str, folder: Path, clients: int, seconds: float) -> dict[str, Any]:
    """So many clients of one process, each asking again as soon as it is answered."""
    from dalenius.ledger import Ledger

    load = runpy.run_path(str(TESTS / "load.py"))
    ledger = Ledger.open(location, anchor=folder / "anchor", keys=folder / "keys")
    ledger.declarations.register("people", "census", "1", "fingerprint", "domain")
    ledger.declarations.grant("people", "add-remove", 900, 0, by="custodian")
    # What is asked for is planned beforehand; deciding and writing it is what is measured.
    wanted = [
        [load["charge"](f"{clients}-{n}-{turn}", 1000) for turn in range(MOST // clients)] for n in range(clients)
    ]
    before = fsync_rate(folder, 0.5)
    stop = time.perf_counter() + seconds
    latencies: list[list[float]] = [[] for _ in range(clients)]

    def work(number: int) -> None:
        mine = latencies[number]
        for charge in wanted[number]:
            if (started := time.perf_counter()) >= stop:
                break
            ledger.reserve(charge)
            mine.append(time.perf_counter() - started)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(clients)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    elapsed = time.perf_counter() - started
    after = fsync_rate(folder, 0.5)
    segments = len((folder / "anchor").read_text().split())
    ledger.close()
    every = sorted(latency for mine in latencies for latency in mine)
    bare = (before + after) / 2
    return {
        "clients": clients,
        "grants": len(every),
        "grants_per_second": round(len(every) / elapsed),
        "fsync_per_second": [round(before), round(after)],
        "multiple_of_fsync": round(len(every) / elapsed / bare, 2),
        "grants_per_transaction": round(len(every) / max(segments - 3, 1), 1),
        "p50_ms": round(1000 * every[len(every) // 2], 2),
        "p99_ms": round(1000 * every[len(every) * 99 // 100], 2),
    }


def processes(location: str, folder: Path, clients: int, requests: int) -> dict[str, Any]:
    """So many processes that each charge and complete; two transactions a request, nothing to batch."""
    config = {
        "job": "load",
        "location": location,
        "folder": str(folder),
        "seed": "bench",
        "limit": 10**15,
        "workers": clients,
        "requests": requests,
        "lease": 600,
    }
    bare = fsync_rate(folder, 0.5)
    done = subprocess.run(
        [sys.executable, str(TESTS / "load.py"), json.dumps(config)], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    rate = result["grants"] / result["seconds"]
    acks = [line.split(" ") for line in (folder / "acks-bench").read_text().splitlines()]
    waits = sorted(float(ack[3]) for ack in acks if ack[0] == "R")
    return {
        "processes": clients,
        "releases_per_second": round(rate),
        "fsync_per_second": round(bare),
        "multiple_of_fsync": round(rate / bare, 2),
        "p50_ms": round(1000 * waits[len(waits) // 2], 2),
        "p99_ms": round(1000 * waits[len(waits) * 99 // 100], 2),
        "balanced": result["spent"] == result["charged"] == result["released"] and not result["problems"],
    }


@contextmanager
def places() -> Iterator[dict[str, Any]]:
    """A function from names to new locations, for each store that is installed."""
    parts = runpy.run_path(str(TESTS / "conftest.py"))
    folder = Path(tempfile.mkdtemp(prefix="dalenius-bench-"))
    found: dict[str, Any] = {"sqlite": lambda name: str(folder / f"{name}.db")}
    server = None
    if parts["binaries"]() is not None:
        home = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
        server = parts["Server"](home)
        found["postgres"] = server.database
    try:
        yield found
    finally:
        if server is not None:
            server.kill()
            shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def measured(seconds: float, clients: tuple[int, ...] = (1, 16, 64)) -> dict[str, list[dict[str, Any]]]:
    """Both stores with so many clients each."""
    with places() as stores:
        return {
            store: [_threads(place(f"t{count}"), count, seconds) for count in clients]
            for store, place in stores.items()
        }


def _threads(location: str, clients: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        return threads(location, Path(scratch), clients, seconds)


def on_a_slow_disk(seconds: float) -> dict[str, Any]:
    """The same on a disk that takes its time, in a process that has the slow calls loaded."""
    compiler = shutil.which("cc")
    if compiler is None:
        return {"skipped": "needs a C compiler"}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "slow.c", Path(folder) / "slow.so"
        source.write_text(SLOW_DISK)
        Path(folder).chmod(0o755)
        options = ["-shared", "-fPIC", "-O1", f"-DDELAY={SLOW_MICROSECONDS}"]
        subprocess.run([compiler, *options, str(source), "-o", str(library), "-ldl"], check=True)
        done = subprocess.run(
            [sys.executable, "-m", "bench.ledger", str(seconds)],
            env={**os.environ, "LD_PRELOAD": str(library)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    return {"microseconds_added": SLOW_MICROSECONDS, **json.loads(done.stdout)}


def run(quick: bool = False, only: str = "") -> dict[str, object]:
    """Both stores, 16 and 64 clients, 16 processes, a slow disk, and the cost of the state (`--only=cost_of_state`)."""
    seconds, requests = (2.0, 20) if quick else (10.0, 200)
    results: dict[str, Any] = {}
    with places() as stores:
        results["cost_of_state"] = compare(stores, turns=2 if quick else 5, grants=640 if quick else 2560)
    if only == "cost_of_state":
        return results
    results |= measured(seconds)
    with places() as stores:
        for store, place in stores.items():
            with tempfile.TemporaryDirectory() as scratch:
                results[store].append(processes(place("p16"), Path(scratch), 16, requests))
    return results | {"slow_disk": on_a_slow_disk(seconds)}


if __name__ == "__main__":
    print(json.dumps(measured(float(sys.argv[1]), (16, 64))))
