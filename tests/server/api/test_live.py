"""Real server processes on loopback: fuzzing from the OpenAPI description, workers killed under load, shutdown, logs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.server.api.conftest import Live, assert_no_canary, document, free_port, postgres_module, users_of, write_site

from dalenius.ledger import Ledger
from dalenius.server.config import ServerConfig

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
HEALTH = 'dalenius_requests_total{method="GET",route="/healthz"'
FAST = "tick_milliseconds = 50\nlease_seconds = 2\n"


def test_openapi_is_valid_and_fuzzing_finds_no_fault(tmp_path: Path, make_live: Callable[..., Live]) -> None:
    """Schemathesis on every operation of the live server, bounded; then the whole log is searched."""
    import schemathesis

    place = write_site(tmp_path, top=FAST)
    headers = users_of(place)
    live = make_live(place)
    schemathesis.openapi.from_url(f"{live.url}/api/v1/openapi.json").validate()
    made = httpx.post(
        f"{live.url}/api/v1/datasets/towns/releases",
        json=document("1", ["town", "sex"]),
        headers=headers["ana"],
        timeout=60,
    )
    entry = made.headers["content-location"].rpartition("/")[2]
    # Path parameters name real things, so that calls reach beyond "not found".
    known = {"name": "towns", "population": "townspeople", "entry": entry, "id": entry, "analyst": "ana"}
    lines = [f'"path.{key}" = "{value}"' for key, value in known.items()]
    (tmp_path / "schemathesis.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")
    for who, most in (("cus", 3), ("", 1)):
        token = ["-H", f"Authorization: {headers[who]['Authorization']}"] if who else []
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "schemathesis"),
                *("run", f"{live.url}/api/v1/openapi.json", "--url", live.url),
                *("--checks", CHECKS, "--max-examples", str(most), "--seed", "7"),
                *("--phases", "examples,fuzzing", "--mode", "all", "--request-timeout", "30"),
                *("--suppress-health-check", "all", "--no-color", "--generation-database", "none"),
                *("--workers", "2", "--exclude-path-regex", "/api/v1/(session|tokens|users).*"),
                *token,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert_no_canary(done.stdout)
    live.stop()
    log = live.log.read_text()
    assert_no_canary(log)
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert sum(line["event"] == "request" for line in lines) > 100
    assert not [line for line in lines if line["event"] in ("exception", "job failed")]


def hammer(url: str, headers: dict[str, str], start: int, count: int, answered: list[str], patience: float) -> None:
    """Ask for distinct releases; whatever breaks meanwhile, ask again with the same idempotency key."""
    for number in range(start, start + count):
        body = document(f"0.001{number:05d}", ["town"])
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                reply = httpx.post(
                    f"{url}/api/v1/datasets/towns/releases",
                    json=body,
                    headers={**headers, "Idempotency-Key": f"k{number}"},
                    timeout=15,
                )
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if reply.status_code == 200:
                answered.append(reply.headers["content-location"].rpartition("/")[2])
                break
            assert reply.status_code in (202, 429, 500, 503), reply.text
            time.sleep(0.1)
        else:
            raise AssertionError(f"request {number} was not answered in time")


def under_load(
    live: Live, headers: dict[str, dict[str, str]], trouble: Callable[[], None], count: int
) -> dict[str, list[str]]:
    """Two users ask while trouble happens; what each was answered."""
    answered: dict[str, list[str]] = {"ana": [], "ben": []}
    failures: list[BaseException] = []

    def ask(who: str, start: int) -> None:
        try:
            hammer(live.url, headers[who], start, count, answered[who], 150)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(who, 1000 * n)) for n, who in enumerate(answered, 1)]
    for thread in threads:
        thread.start()
    trouble()
    for thread in threads:
        thread.join()
    assert not failures, failures
    return answered


def read_status(url: str) -> int:
    """Status of a read; a worker may say 503 until its connection to a restarted database is made anew."""
    until = time.monotonic() + 30
    status = httpx.get(url).status_code
    while status == 503 and time.monotonic() < until:
        time.sleep(0.2)
        status = httpx.get(url).status_code
    return status


def assert_nothing_lost(location: str, live: Live, answered: dict[str, list[str]], count: int) -> None:
    """Every answered release is stored, each request was charged once, and the ledger verifies."""
    everything = [entry for entries in answered.values() for entry in entries]
    assert len(everything) == len(set(everything)) == 2 * count
    for entry in everything:
        assert read_status(f"{live.url}/api/v1/releases/{entry}") == 200
    with Ledger.open(location) as ledger:
        report = ledger.reader.verify()
        assert report.is_ok, report.problems
        charges = [e for e in ledger.reader.entries("townspeople") if e.kind == "charge"]
        assert sorted(e.name for e in charges) == sorted(everything)


def assert_metrics_add_up(live: Live) -> None:
    """Whichever worker is asked, it counts what both answered."""
    for _ in range(40):
        httpx.get(f"{live.url}/healthz")
    time.sleep(2.5)
    lines = httpx.get(f"{live.url}/metrics").text.splitlines()
    counts = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(HEALTH)]
    assert sum(counts) == 40


def test_killed_workers_lose_nothing(tmp_path: Path, make_live: Callable[..., Live]) -> None:
    place = write_site(tmp_path, top=FAST + "open_metrics = true\n")
    headers = users_of(place)
    live = make_live(place, workers=2)
    assert_metrics_add_up(live)
    killed: list[int] = []

    def trouble() -> None:
        for _ in range(2):
            time.sleep(0.7)
            victims = live.worker_pids()
            if victims:
                os.kill(victims[0], signal.SIGKILL)
                killed.append(victims[0])

    answered = under_load(live, headers, trouble, 8)
    assert len(killed) == 2
    assert_nothing_lost(str(tmp_path / "ledger.sqlite"), live, answered, 8)


@pytest.mark.postgres
def test_a_killed_postgresql_loses_nothing(
    tmp_path: Path, make_live: Callable[..., Live], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = postgres_module()
    folder = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    server = module.Server(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        location = server.database("site")
        place = write_site(tmp_path / "site", top=FAST + f'ledger = "{location}"\nstore = "{location}"\n')
        headers = users_of(place)
        live = make_live(place, workers=2)

        def trouble() -> None:
            time.sleep(0.4)
            server.kill()
            server.start()

        answered = under_load(live, headers, trouble, 6)
        assert_nothing_lost(location, live, answered, 6)
        live.stop()
        assert_no_canary(live.log.read_text())
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def test_graceful_shutdown_answers_what_is_under_way(tmp_path: Path, make_live: Callable[..., Live]) -> None:
    place = write_site(tmp_path, top="tick_milliseconds = 700\n")
    headers = users_of(place)
    live = make_live(place)
    replies: list[httpx.Response] = []
    asking = threading.Thread(
        target=lambda: replies.append(
            httpx.post(
                f"{live.url}/api/v1/datasets/towns/releases", json=document(), headers=headers["ana"], timeout=30
            )
        )
    )
    asking.start()
    time.sleep(0.3)
    live.process.send_signal(signal.SIGTERM)
    asking.join()
    assert replies[0].status_code == 200
    assert live.process.wait(30) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("fault", ["rolled back", "edited"])
def test_a_broken_ledger_ends_the_server_with_one_message(tmp_path: Path, workers: int, fault: str) -> None:
    """Workers were begun again for ever without a word."""
    place = write_site(tmp_path)
    location = str(ServerConfig.load(place).ledger_location)
    with Ledger.open(location) as ledger:
        ledger.declarations.grant("townspeople", "add-remove", 1, 0, by="custodian")
    older = Path(location).read_bytes()
    with Ledger.open(location) as ledger:
        ledger.declarations.grant("townspeople", "add-remove", 1, 0, by="custodian")
    if fault == "rolled back":
        Path(location).write_bytes(older)
    else:
        Path(location).write_bytes(older[:4096] + b"x" * (len(older) - 4096))
    command = [sys.executable, "-m", "dalenius.cli.main", "serve", str(place), "--port", str(free_port())]
    done = subprocess.run(
        [*command, "--workers", str(workers)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 6, done.stderr
    told = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    code = "anchor_mismatch" if fault == "rolled back" else "ledger_corrupt"
    assert "".join(told).startswith(code) and done.stderr.count(code) == 1
    assert "Traceback" not in done.stderr and "worker ended" not in done.stderr
