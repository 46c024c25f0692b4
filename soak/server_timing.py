"""Response times of releases on two neighbouring data sets: a two-sample test with stated power.

A real server on loopback serves two data sets that differ in one person. Two clients ask for distinct one-way tables, the
data set drawn anew for each request, and note how long the answer took. Kept are histograms at 0.1 ms and the sums that
correlations need, so that runs add up: each call of `run` appends a chunk to `soak/results/server_timing.json`.

The test is Kolmogorov-Smirnov's on all response times and Welch's on their means, at level 1 % each. The smallest
difference of means that Welch's test finds with probability 90 % is reported beside it, and so is a planted control: the
same histograms with one arm delayed by that difference must be told apart.
"""

import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "server_timing.json"
TARGET = 20_000
TICK_MILLISECONDS = 50
ARMS = ("whole", "neighbour")
GROUPS = ("a", "b", "c", "d", "e", "f")
SHARES = (1, 2, 5, 12, 30, 50)
ROWS = 20_000
_LEVEL, _POWER = 0.01, 0.90
_Z = 2.5758 + 1.2816  # normal quantiles of 1 - level / 2 and of the power
_SUMS = ("n", "t", "tt", "x", "xx", "tx", "c", "cc", "tc")


def _write_site(folder: Path) -> dict[str, list[int]]:
    """Two files that differ in one person, and the exact counts of each group."""
    rng = random.Random(11)
    people = rng.choices(GROUPS, weights=SHARES, k=ROWS)
    exact = {}
    for arm in ARMS:
        rows = people if arm == "whole" else people[:-1]
        (folder / f"{arm}.csv").write_text("group,other\n" + "".join(f"{g},{i % 7}\n" for i, g in enumerate(rows)))
        (folder / f"{arm}.toml").write_text(
            f'[dataset]\nname = "{arm}"\npopulation = "{arm}"\nsource = "{arm}.csv"\npublic = true\n'
            f"[variables.group]\ncategories = {json.dumps(GROUPS)}\n"
            "[variables.other]\ncategories = [0, 1, 2, 3, 4, 5, 6]\n"
        )
        exact[arm] = [rows.count(g) for g in GROUPS]
    (folder / "policy.toml").write_text("[budget]\nrho = 900\n")
    limits = "\n".join(f"{name} = 100000000" for name in ("requests_per_minute", "releases_per_minute"))
    sets = "".join(f'[[datasets]]\ndocument = "{arm}.toml"\n' for arm in ARMS)
    (folder / "server.toml").write_text(
        f'policy = "policy.toml"\nsecure_cookies = false\npages = false\nregister_on_start = true\n'
        f"tick_milliseconds = {TICK_MILLISECONDS}\n[limits]\n{limits}\n{sets}"
    )
    return exact


def _start(folder: Path) -> tuple["subprocess.Popen[bytes]", str, list[dict[str, str]]]:
    import httpx

    from dalenius.server.accounts import Accounts
    from dalenius.server.config import ServerConfig
    from dalenius.server.store import Store

    store = Store(ServerConfig.load(folder / "server.toml").store_location)
    accounts = Accounts(store)
    tokens = [accounts.create_token(accounts.create(f"u{i}", "analyst", None), "soak") for i in range(2)]
    store.close()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dalenius.cli.main", "serve", str(folder / "server.toml")),
            *("--port", str(port), "--workers", "1"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            if httpx.get(f"{url}/readyz", timeout=5).status_code == 200:
                return process, url, [{"Authorization": f"Bearer {t}"} for t in tokens]
        except httpx.TransportError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError((folder / "log").read_text()[-2000:])


def _ask(url: str, header: dict[str, str], exact: dict[str, list[int]], count: int, nonce: int, out: list[Any]) -> None:
    """Ask for so many distinct releases: (arm, seconds, noise of the cell, exact count of the cell)."""
    import httpx

    coin = random.SystemRandom()
    with httpx.Client(base_url=url, headers=header, timeout=60) as client:
        for number in range(count):
            arm, place = coin.choice(ARMS), coin.randrange(len(GROUPS))
            body = {
                "table": {"rows": [{"variable": "group", "categories": [GROUPS[place]]}]},
                "privacy": {"definition": "pure", "epsilon": f"0.02{nonce:07d}{number:07d}"},
            }
            started = time.perf_counter()
            reply = client.post(f"/api/v1/datasets/{arm}/releases", json=body)
            seconds = time.perf_counter() - started
            reply.raise_for_status()
            true = exact[arm][place]
            out.append((arm, seconds, reply.json()["tables"][0]["values"][0] - true, true))


def _empty() -> dict[str, Any]:
    return {
        "tick_milliseconds": TICK_MILLISECONDS,
        "rows": ROWS,
        "chunks": 0,
        "histogram_tenths_of_ms": {arm: {} for arm in ARMS},
        "sums": {arm: dict.fromkeys(_SUMS, 0.0) for arm in ARMS},
    }


def _load() -> dict[str, Any]:
    return json.loads(RESULTS.read_text())["data"] if RESULTS.exists() else _empty()


def _add(data: dict[str, Any], samples: list[Any]) -> None:
    for arm in ARMS:
        kept = Counter({int(k): v for k, v in data["histogram_tenths_of_ms"][arm].items()})
        sums = data["sums"][arm]
        for name, seconds, noise, count in samples:
            if name != arm:
                continue
            t = seconds * 1000
            kept[int(t * 10)] += 1
            for key, value in zip(
                _SUMS, (1, t, t * t, noise, noise * noise, t * noise, count, count * count, t * count), strict=True
            ):
                sums[key] += value
        data["histogram_tenths_of_ms"][arm] = {str(k): v for k, v in sorted(kept.items())}
    data["chunks"] += 1


def _kolmogorov_smirnov(first: dict[int, int], second: dict[int, int]) -> tuple[float, float]:
    """Largest distance of the two distribution functions and its asymptotic p-value (ties make it larger)."""
    n, m = sum(first.values()), sum(second.values())
    below = [0, 0]
    distance = 0.0
    for value in sorted({*first, *second}):
        below[0] += first.get(value, 0)
        below[1] += second.get(value, 0)
        distance = max(distance, abs(below[0] / n - below[1] / m))
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101)) if x > 0.2 else 1.0
    return distance, min(max(p, 0.0), 1.0)


def _correlation(sums: dict[str, float], name: str) -> float:
    n, t, tt, x, xx, tx = (sums[k] for k in ("n", "t", "tt", name, 2 * name, f"t{name}"))
    spread = math.sqrt(max(tt / n - (t / n) ** 2, 1e-30) * max(xx / n - (x / n) ** 2, 1e-30))
    return (tx / n - t / n * x / n) / spread


def analyse(data: dict[str, Any]) -> dict[str, Any]:
    """Both tests, the power, the planted control and the correlations."""
    hists = {arm: {int(k): v for k, v in data["histogram_tenths_of_ms"][arm].items()} for arm in ARMS}
    a, b = (data["sums"][arm] for arm in ARMS)
    mean = [s["t"] / s["n"] for s in (a, b)]
    variance = [s["tt"] / s["n"] - m * m for s, m in zip((a, b), mean, strict=True)]
    error = math.sqrt(variance[0] / a["n"] + variance[1] / b["n"])
    z = (mean[0] - mean[1]) / error
    detectable = _Z * error
    distance, p = _kolmogorov_smirnov(hists["whole"], hists["neighbour"])
    shift = max(round(detectable * 10), 1)
    planted = _kolmogorov_smirnov(hists["whole"], {k + shift: v for k, v in hists["neighbour"].items()})
    pooled = {k: a[k] + b[k] for k in _SUMS}
    tick = data["tick_milliseconds"]
    ticks = Counter(round(k / 10 // tick) for h in hists.values() for k, v in h.items() for _ in range(v))
    releases = int(pooled["n"])
    result = {
        "releases": releases,
        "target": TARGET,
        "mean_milliseconds": {arm: round(m, 4) for arm, m in zip(ARMS, mean, strict=True)},
        "welch_p": math.erfc(abs(z) / math.sqrt(2)),
        "kolmogorov_smirnov": {"distance": distance, "p": p},
        "level": _LEVEL,
        "power": _POWER,
        "detectable_milliseconds": round(detectable, 4),
        "planted_control_p": planted[1],
        "correlation_with_noise": _correlation(pooled, "x"),
        "correlation_with_count": _correlation(pooled, "c"),
        "ticks": dict(sorted(ticks.items())),
    }
    small = max(abs(result["correlation_with_noise"]), abs(result["correlation_with_count"]))  # type: ignore[arg-type]
    # At the target the bound on correlations is more than four standard errors; below it, four of them are allowed.
    bound = 0.03 if releases >= TARGET else max(0.03, 4 / math.sqrt(max(releases, 1)))
    result["ok"] = bool(p > _LEVEL and float(str(result["welch_p"])) > _LEVEL and small < bound)
    result["is_complete"] = releases >= TARGET
    return result


def _chunk(count: int) -> list[Any]:
    """One server with fresh data sets, and so many releases by two clients."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exact = _write_site(folder)
        process, url, headers = _start(folder)
        samples: list[Any] = []
        try:
            warm: list[Any] = []
            _ask(url, headers[0], exact, 20, 0, warm)
            clients = [
                threading.Thread(target=_ask, args=(url, h, exact, count // 2, i + 1, samples))
                for i, h in enumerate(headers)
            ]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    return samples


def run(quick: bool = False, chunks: int | None = None) -> dict[str, object]:
    """Add chunks of 1,000 releases until the target is reached; `quick` measures 100 and leaves the file alone."""
    if quick:
        data = _empty()
        _add(data, _chunk(100))
        return analyse(data)
    data = _load()
    done = 0
    while sum(data["sums"][arm]["n"] for arm in ARMS) < TARGET and done != chunks:
        _add(data, _chunk(1000))
        done += 1
        RESULTS.parent.mkdir(exist_ok=True)
        temporary = RESULTS.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps({"result": analyse(data), "data": data}, indent=1) + "\n")
        temporary.replace(RESULTS)
    return analyse(data)
