"""Many processes, kills at random moments, and a twin that shows that these tests can fail."""

import json
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

LOAD = Path(__file__).with_name("load.py")
PARTS = runpy.run_path(str(LOAD))
must_balance, has_begun = PARTS["must_balance"], PARTS["has_begun"]
WORKERS, REQUESTS = 16, 200
# About a third of what the workers ask for together.
LIMIT = 10**9 + 7


def start(job: str, location: str, folder: Path, **options: Any) -> "subprocess.Popen[str]":
    config = {"job": job, "location": location, "folder": str(folder), "seed": "0", "limit": LIMIT, **options}
    return subprocess.Popen(
        [sys.executable, str(LOAD), json.dumps(config)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    assert not any(result.get("codes", ())), err
    return result


@pytest.mark.timeout(300)
def test_sixteen_processes_never_overspend(location, tmp_path):
    result = finish(start("load", location, tmp_path, workers=WORKERS, requests=REQUESTS, lease=600, lives=4, stay=25))
    must_balance(result)
    assert result["contradictions"] == []
    assert result["shared"] > 0
    # The account was exhausted: what is left could not have paid the least request that was refused.
    assert result["refused"] > WORKERS
    assert result["limit"] - result["spent"] < 2 * 10**6
    assert result["anchored"] == result["lines"]


def test_the_naive_twin_fails_the_same_test(tmp_path):
    location = str(tmp_path / "naive.db")
    result = finish(start("load", location, tmp_path, workers=WORKERS, requests=REQUESTS, is_naive=True))
    with pytest.raises(AssertionError, match=r"more was charged|balance"):
        must_balance(result)


@pytest.mark.timeout(300)
def test_fifty_kills_lose_nothing(tmp_path):
    location = str(tmp_path / "ledger.db")
    result = finish(start("kill", location, tmp_path, workers=3, rounds=50, busy=1, stay=4, limit=10**15))
    assert result["rounds"] == 50
    assert result["acknowledged"] > 100
    assert result["unfinished"] > 0


@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_killed_clients_of_a_server_lose_nothing(server, tmp_path):
    location = server.empty()
    result = finish(start("kill", location, tmp_path, workers=3, rounds=10, busy=1, stay=4, limit=10**15))
    assert result["rounds"] == 10
    assert result["acknowledged"] > 20


@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_a_killed_server_loses_nothing(server, tmp_path):
    location = server.empty()
    process = start("load", location, tmp_path, workers=4, requests=200, lease=600, limit=10**15)
    kills = 0
    stop = threading.Event()
    threading.Thread(target=lambda: (process.wait(), stop.set()), daemon=True).start()
    while not stop.wait(0.8) and kills < 3:
        if not has_begun(tmp_path, "0"):
            continue
        server.kill()
        server.start()
        kills += 1
    result = finish(process)
    assert kills >= 1
    must_balance(result)
    assert result["charges"] == 4 * 190 + 10
    assert result["contradictions"] == []
