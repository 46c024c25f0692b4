"""The table server on loopback: reading released tables, releasing new ones from 1.4 million rows, start.

Reading is measured with wrk where it is installed, otherwise by a small asyncio client that says so. Everything runs on the
same cores as the server. `load` is the machine's own load while the figures were taken: on a busy machine they are upper
bounds, and the server's processor time beside them says what an idle machine would need. Aims: reading p99 < 50 ms at 16 connections; a release of about 1,000 cells p99 < 1 s with fsync and tick; start < 3 s.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx

ROWS = ["race", "rank", "branch", "gender", "hisp"]
CELLS = 7 * 11 * 4 * 2 * 2


class Served:
    """The demo population behind a real server."""

    def __init__(self, folder: Path, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "dalenius.cli.main", "serve", str(folder / "server.toml")),
                *("--port", str(self.port), "--workers", str(workers)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("ab"),
            env={**os.environ, "PYTHONPATH": ""},
        )
        while True:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.02)
        self.seconds = time.perf_counter() - started

    def cpu_seconds(self) -> float:
        """Processor time of the server and its workers so far."""
        total = 0
        for place in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = place.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(place.parent.name) == self.process.pid or int(fields[1]) == self.process.pid:
                total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def _prepare(folder: Path) -> list[dict[str, str]]:
    """The demo site without limits on speed, and a token for each of four analysts."""
    from dalenius.server.accounts import Accounts
    from dalenius.server.config import ServerConfig
    from dalenius.server.demonstration import prepare
    from dalenius.server.store import StateStore

    place, _ = prepare(folder)
    (folder / "policy.toml").write_text('population = "us-active-duty"\n[budget]\nrho = 900\ndelta = 1e-6\n')
    text = place.read_text().replace('list = "list.toml"\n', "")
    names = ("requests_per_minute", "anonymous_per_minute", "releases_per_minute", "waiting_per_user")
    limits = "\n".join(f"{name} = 100000000" for name in names)
    place.write_text(text.replace("[[datasets]]", f"[limits]\n{limits}\n\n[[datasets]]"))
    store = StateStore(ServerConfig.load(place).store_location)
    accounts = Accounts(store)
    users = [accounts.create(f"u{i}", "analyst", None) for i in range(4)]
    headers = [{"Authorization": f"Bearer {accounts.create_token(user, 'bench')}"} for user in users]
    store.close()
    return headers


def _body(number: int) -> dict[str, Any]:
    return {"table": {"rows": ROWS}, "privacy": {"definition": "pure", "epsilon": f"0.01{number:06d}"}}


def _release(url: str, header: dict[str, str], numbers: range, out: list[float]) -> None:
    with httpx.Client(base_url=url, headers=header, timeout=120) as client:
        for number in numbers:
            started = time.perf_counter()
            reply = client.post("/api/v1/datasets/military-2010/releases?wait=120", json=_body(number))
            while reply.status_code == 202:
                time.sleep(0.05)
                reply = client.post("/api/v1/datasets/military-2010/releases?wait=120", json=_body(number))
            reply.raise_for_status()
            out.append(time.perf_counter() - started)


def _percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "p50_ms": round(1000 * statistics.median(ordered), 1),
        "p99_ms": round(1000 * ordered[min(last, round(0.99 * last))], 1),
        "n": len(ordered),
    }


def _wrk(url: str, connections: int, seconds: int) -> dict[str, Any]:
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    percentile = {}
    for name in ("50%", "99%"):
        found = re.search(rf"{name}\s+([\d.]+)(us|ms|s)\b", done)
        assert found is not None, done
        percentile[name] = float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done)
    return {
        "client": "wrk",
        "requests_per_second": float(rate[1]) if rate else 0.0,
        "p50_ms": percentile["50%"],
        "p99_ms": percentile["99%"],
        "errors": "Non-2xx" in done or "Socket errors" in done,
    }


async def _asyncio_client(url: str, connections: int, seconds: int) -> dict[str, Any]:
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    call = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    taken: list[float] = []
    until = time.perf_counter() + seconds

    async def one() -> None:
        reader, writer = await asyncio.open_connection(name, int(port))
        while time.perf_counter() < until:
            started = time.perf_counter()
            writer.write(call)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            taken.append(time.perf_counter() - started)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    found = _percentiles(taken)
    return {"client": "asyncio", "requests_per_second": len(taken) / seconds, **found, "errors": False}


def _read(url: str, connections: int, seconds: int) -> dict[str, Any]:
    if shutil.which("wrk"):
        return _wrk(url, connections, seconds)
    return asyncio.run(_asyncio_client(url, connections, seconds))


def _concurrent(url: str, headers: list[dict[str, str]], each: int, offset: int) -> dict[str, Any]:
    """64 clients: the first user holds 46 of them, the three others six each."""
    taken: list[list[float]] = [[] for _ in headers]
    owners = [0] * 46 + [1, 2, 3] * 6
    threads = [
        threading.Thread(
            target=_release, args=(url, headers[owner], range(offset + i * each, offset + (i + 1) * each), taken[owner])
        )
        for i, owner in enumerate(owners)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    return {
        "releases_per_second": round(len(owners) * each / seconds, 2),
        "user_with_46_clients": _percentiles(taken[0]),
        "users_with_6_clients": _percentiles([t for part in taken[1:] for t in part]),
    }


def run(quick: bool = False) -> dict[str, object]:
    """All figures; `quick` takes fewer of them."""
    seconds, releases, each = (3, 20, 1) if quick else (10, 200, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        headers = _prepare(folder)
        first = Served(folder, 1)
        first.stop()
        starts: list[float] = []
        start_cpu: list[float] = []
        for workers in (1, 2):
            served = Served(folder, workers)
            starts.append(round(served.seconds, 2))
            start_cpu.append(round(served.cpu_seconds(), 2))
            if workers == 1:
                served.stop()
        taken: list[float] = []
        _release(served.url, headers[0], range(5), [])
        before = served.cpu_seconds()
        _release(served.url, headers[0], range(100, 100 + releases), taken)
        release_cpu = (served.cpu_seconds() - before) / releases
        entry = httpx.get(f"{served.url}/api/v1/releases?limit=1").json()["releases"][0]["entry"]
        address = f"{served.url}/api/v1/releases/{entry}"
        _read(address, 4, 1)
        reading = {}
        for connections in (16, 64):
            before = served.cpu_seconds()
            found = _read(address, connections, seconds)
            count = max(found["requests_per_second"] * seconds, 1)
            found["server_cpu_ms_per_request"] = round(1000 * (served.cpu_seconds() - before) / count, 3)
            reading[str(connections)] = found
        together = _concurrent(served.url, headers, each, 10_000)
        served.stop()
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "start_seconds": {"1 worker": starts[0], "2 workers": starts[1]},
        "start_cpu_seconds": {"1 worker": start_cpu[0], "2 workers": start_cpu[1]},
        "release": {
            "cells": CELLS,
            "rows": 1_414_593,
            "tick_ms": 250,
            **_percentiles(taken),
            "server_cpu_ms": round(1000 * release_cpu, 1),
        },
        "reading_by_connections": reading,
        "release_with_64_clients": together,
        "aims": {
            "reading p99 < 50 ms at 16": reading["16"]["p99_ms"] < 50,
            "release p99 < 1 s": _percentiles(taken)["p99_ms"] < 1000,
            "start < 3 s": max(starts) < 3,
        },
    }
