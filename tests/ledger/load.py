"""Load on a ledger from many processes, and the books that must balance afterwards.

Run as a program with one JSON argument, so that the processes it forks carry nothing of the test runner. The tests,
`soak` and `bench` use it: `{"job": "load" | "kill", "location": ..., ...}`; the result is JSON on standard output.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.core.budget import UNIT, Cost, units_down
from dalenius.core.neighbours import Relation
from dalenius.errors import BudgetExhausted, LedgerMismatch, StorageError
from dalenius.ledger import Charge, Ledger
from dalenius.ledger.entry import digest_of

SHARED = 10


def charge(key: str, units: int, analyst: str = "") -> Charge:
    """A request that costs so many units of rho."""
    return Charge(
        population="people",
        relation=Relation.ADD_REMOVE,
        dataset="census",
        version="1",
        key=key,
        request={"statistic": "count", "by": ["age"], "key": key},
        definition="zero_concentrated",
        budget={"rho": str(units * UNIT)},
        cost=Cost(relation=Relation.ADD_REMOVE, rho=units * UNIT),
        analyst=analyst,
        fingerprint="fingerprint",
        plan_digest="plan",
    )


class NaiveLedger:
    """Check, then act: what a ledger must not be. It has no lease, no chain, and no condition in its UPDATE."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = OFF")

    @classmethod
    def create(cls, path: str, limit: int) -> None:
        """An empty account."""
        naive = cls(path)
        naive.connection.execute("CREATE TABLE balance (spent INTEGER, most INTEGER)")
        naive.connection.execute("CREATE TABLE charges (key TEXT, units INTEGER)")
        naive.connection.execute("INSERT INTO balance VALUES (0, ?)", (limit,))

    def pay(self, key: str, units: int) -> None:
        """Reads the balance, finds that it is enough, and writes the new one."""
        spent, most = self.connection.execute("SELECT spent, most FROM balance").fetchone()
        if spent + units > most:
            raise BudgetExhausted("not enough")
        self.connection.execute("UPDATE balance SET spent = ?", (spent + units,))
        self.connection.execute("INSERT INTO charges VALUES (?, ?)", (key, units))

    def books(self) -> dict[str, int]:
        """Limit, balance, and what the lines add up to."""
        spent, most = self.connection.execute("SELECT spent, most FROM balance").fetchone()
        total = self.connection.execute("SELECT coalesce(sum(units), 0) FROM charges").fetchone()[0]
        return {"limit": most, "spent": spent, "charged": total, "released": total}


def open_ledger(config: dict[str, Any]) -> Ledger:
    """The ledger under load; a server that is being killed and started again is waited for."""
    patience = time.monotonic() + 60
    while True:
        try:
            return Ledger.open(
                config["location"],
                anchor=config["folder"] + "/anchor",
                keys=config["folder"] + "/keys",
                lease_seconds=config.get("lease", 0.3),
                wait_seconds=60.0,
            )
        except (LedgerMismatch, StorageError):
            if time.monotonic() > patience:
                raise
            time.sleep(0.2)


def has_begun(folder: Path, seed: str) -> bool:
    """Whether somebody was paid already: kills begin after that."""
    path = folder / f"acks-{seed}"
    return path.exists() and path.stat().st_size > 0


def prepare(config: dict[str, Any]) -> None:
    """One file and one budget."""
    if config.get("is_naive"):
        NaiveLedger.create(config["location"], config["limit"])
        return
    with open_ledger(config) as ledger:
        ledger.declarations.register("people", "census", "1", "fingerprint", "domain")
        ledger.declarations.grant("people", "add-remove", Fraction(config["limit"]) * UNIT, 0, by="custodian")


def books(config: dict[str, Any]) -> dict[str, Any]:
    """The balance, and the same number added up over lines and over releases."""
    if config.get("is_naive"):
        return dict(NaiveLedger(config["location"]).books())
    with open_ledger(config) as ledger:
        report = ledger.reader.verify()
        account = ledger.reader.account("people")
        lines = {e.name: int(e.body["units"]["rho"]) for e in ledger.reader.entries("people") if e.kind == "charge"}
        released = sum(lines[release.entry] for release in ledger.reader.releases("people"))
        return {
            "limit": units_down(account.limit.rho),
            "spent": units_down(account.spent.rho),
            "charged": sum(lines.values()),
            "released": released,
            "charges": len(lines),
            "problems": list(report.problems),
            "unfinished": report.unfinished,
            "anchored": report.anchored,
            "lines": report.lines,
            "head": report.head,
        }


def must_balance(result: dict[str, Any], *, is_complete: bool = True) -> None:
    """Never over the limit by one unit; ledger = sum of entries (= sum over releases, if none was interrupted)."""
    assert result["charged"] <= result["limit"], "more was charged than granted"
    assert result["spent"] == result["charged"], "the balance is not what the lines add up to"
    assert not result.get("problems"), result["problems"]
    if is_complete:
        assert result["released"] == result["charged"], "a charge without release"


def worker(config: dict[str, Any], number: int, log: int, life: int = 0) -> None:
    """One process: pay, complete, and write down what was acknowledged, in one write each.

    With `stay` all but every fourth close the ledger after so many requests and open it again; with `lives` they end, and
    others do the rest.
    """
    rng = random.Random(f"{config['seed']}/{number}")
    naive = NaiveLedger(config["location"]) if config.get("is_naive") else None
    ledger = None if naive else open_ledger(config)
    part = config["requests"] // lives(config, number)
    stay = 0 if number % 4 == 0 else config.get("stay", 0)
    for turn in range(life * part, (life + 1) * part):
        if ledger and stay and turn % stay == stay - 1:
            ledger.close()
            ledger = open_ledger(config)
        is_shared = turn % 20 == 19
        key = f"shared-{turn // 20 % SHARED}" if is_shared else f"{config['seed']}-{number}-{turn}"
        units = 10**6 if is_shared else rng.randrange(1, 2 * 10**6)
        started = time.perf_counter()
        try:
            if naive:
                naive.pay(f"{key}-{number}-{turn}", units)
                continue
            assert ledger is not None
            reservation = ledger.reserve(charge(key, units, f"analyst {number % 4}"))
            granted = time.perf_counter() - started
            os.write(log, f"R {key} {reservation.entry} {granted:.6f}\n".encode())
            release = ledger.commit(reservation, f"{key}/{number}/{turn}/{rng.random()}".encode())
            os.write(log, f"C {key} {digest_of(release.document)} {time.perf_counter() - started:.6f}\n".encode())
        except BudgetExhausted:
            os.write(log, f"X {key} {units} {time.perf_counter() - started:.6f}\n".encode())


def lives(config: dict[str, Any], number: int) -> int:
    """How many processes do a worker's requests, one after the other; the first of four keeps its ledger open."""
    return 1 if number % 4 == 0 else int(config.get("lives", 1))


def fork(work: Callable[[], None]) -> int:
    """Run in a child process that ends there, whatever happens."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def acknowledged(path: Path) -> dict[str, list[list[str]]]:
    """What the workers wrote down, by kind; a line without its end was not acknowledged."""
    found: dict[str, list[list[str]]] = {"R": [], "C": [], "X": []}
    for line in path.read_text().split("\n")[:-1]:
        kind, *rest = line.split(" ")
        found[kind].append(rest)
    return found


def load(config: dict[str, Any]) -> dict[str, Any]:
    """All workers at once, to the end."""
    path = Path(config["folder"]) / f"acks-{config['seed']}"
    log = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    started = time.perf_counter()

    def work(number: int, life: int) -> Callable[[], None]:
        return lambda: worker(config, number, log, life)

    codes = []
    children = {fork(work(number, 0)): (number, 0) for number in range(config["workers"])}
    while children:
        child, code = os.wait()
        number, life = children.pop(child)
        codes.append(code)
        if life + 1 < lives(config, number):
            children[fork(work(number, life + 1))] = (number, life + 1)
    seconds = time.perf_counter() - started
    os.close(log)
    acks = acknowledged(path)
    if not config.get("is_naive"):
        check_acknowledged(config, acks)
    answers: dict[str, set[str]] = {}
    for key, digest, _ in acks["C"]:
        answers.setdefault(key, set()).add(digest)
    return {
        "codes": codes,
        "seconds": seconds,
        "grants": len(acks["R"]),
        "refused": len(acks["X"]),
        "least_refused": min((int(units) for _, units, _ in acks["X"]), default=None),
        "contradictions": [key for key, digests in answers.items() if len(digests) > 1],
        "shared": sum(key.startswith("shared") for key in answers),
        **books(config),
    }


class Holder:
    """A process that keeps one ledger open for all rounds, and releases something when it is asked to."""

    def __init__(self, config: dict[str, Any], log: int) -> None:
        asked, self._ask = os.pipe()
        self._told, telling = os.pipe()

        def work() -> None:
            os.close(self._ask)
            ledger = open_ledger(config)
            turn = 0
            while os.read(asked, 1):
                key, turn = f"held-{turn}", turn + 1
                reservation = ledger.reserve(charge(key, 10**6))
                release = ledger.commit(reservation, key.encode())
                os.write(log, f"R {key} {reservation.entry} 0\nC {key} {digest_of(release.document)} 0\n".encode())
                os.write(telling, b".")

        self._child = fork(work)
        os.close(asked)
        os.close(telling)

    def release(self) -> None:
        """Ask, and wait until it is acknowledged."""
        os.write(self._ask, b".")
        assert os.read(self._told, 1), "the process that kept its ledger open was refused"

    def end(self) -> None:
        """Let it close its ledger and end."""
        os.close(self._ask)
        os.close(self._told)
        assert os.waitpid(self._child, 0)[1] == 0


def kill(config: dict[str, Any]) -> dict[str, Any]:
    """Rounds of load that end with SIGKILL at a random moment; everything is checked after every round."""
    rng = random.Random(config["seed"])
    path = Path(config["folder"]) / "acks"
    log = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    holder = Holder(config, log)
    spent = rounds = 0
    result: dict[str, Any] = {}
    for number in range(config["rounds"]):
        part = config | {"seed": f"{config['seed']}-{number}", "requests": 10**6}

        def work(number: int, part: dict[str, Any] = part) -> Callable[[], None]:
            return lambda: worker(part, number, log)

        children = [fork(work(n)) for n in range(config["workers"])]
        # The moment is random in steps of work and in time, so that a busy machine is killed at work as well.
        size, wanted = path.stat().st_size, rng.randrange(0, 40) * config["busy"]
        patience = time.monotonic() + 3
        while path.stat().st_size - size < wanted * 50 and time.monotonic() < patience:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        for child in rng.sample(children, len(children)):
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        holder.release()
        result = books(config)
        must_balance(result, is_complete=False)
        assert result["spent"] >= spent, "a charge was given back"
        spent = result["spent"]
        check_acknowledged(config, acknowledged(path))
        rounds += 1
    holder.end()
    os.close(log)
    acks = acknowledged(path)
    return result | {"rounds": rounds, "acknowledged": len(acks["C"]), "reserved": len(acks["R"])}


def check_acknowledged(config: dict[str, Any], acks: dict[str, list[list[str]]]) -> None:
    """No acknowledged charge and no acknowledged release is missing or different."""
    with open_ledger(config) as ledger:
        charges = {e.body["key"]: e.name for e in ledger.reader.entries("people") if e.kind == "charge"}
        releases = {r.key: digest_of(r.document) for r in ledger.reader.releases("people")}
    for key, entry, _ in acks["R"]:
        assert charges[key] == entry, "an acknowledged charge is missing"
    for key, digest, _ in acks["C"]:
        assert releases[key] == digest, "an acknowledged release is missing or was replaced"


def main() -> None:
    """Do the job and print its result."""
    config = json.loads(sys.argv[1])
    with suppress(KeyboardInterrupt):
        if not config.get("is_prepared"):
            prepare(config)
        print(json.dumps({"load": load, "kill": kill}[config["job"]](config)))


if __name__ == "__main__":
    main()
