"""A random life of a ledger on either store, and a dictionary that knows what must be true of it.

Tests and `soak` run it. Processes are real: a helper that has never opened a ledger forks each of them.
"""

import copy
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.errors import (
    AnchorMismatch,
    BudgetExhausted,
    Conflict,
    DaleniusError,
    LedgerCorrupt,
    NotPublic,
    ParameterError,
    QuotaExhausted,
)
from dalenius.ledger import Charge, Ledger, schema
from dalenius.ledger.anchor import AnchorFile
from dalenius.ledger.restore import restore

UNITS = 10**12
NO_QUOTA = 10**18
TABLES = ("head", "entries", "tree", *schema.STATE)
DATA = {"people": "census", "others": "panel"}


def charge_of(population: str, key: str, units: int, analyst: str, version: str, overlaps: Iterable[str]) -> Charge:
    """A request that costs so many units of rho."""
    return Charge(
        population=population,
        relation=Relation.ADD_REMOVE,
        dataset=DATA[population],
        version=version,
        key=key,
        request={},
        definition="zero_concentrated",
        budget={},
        cost=Cost(relation=Relation.ADD_REMOVE, rho=Fraction(units, UNITS)),
        analyst=analyst,
        fingerprint="fingerprint",
        overlaps=tuple(overlaps),
    )


def visit(place: dict[str, str], charges: list[list[Any]], now: float) -> None:
    """Another process: open the ledger, pay what is asked, say so after each, and go."""
    with Ledger.open(**place, clock=lambda: now, lease_seconds=10.0, wait_seconds=0.0) as ledger:
        for one in charges:
            is_paid = True
            try:
                ledger.reserve(charge_of(*one))
            except BudgetExhausted:
                is_paid = False
            os.write(1, json.dumps([one[1], is_paid]).encode() + b"\n")


def nursery() -> None:
    """Fork a process for each line of standard input; its own ends with the last of them."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            visit(**json.loads(line))
            os._exit(0)
        os.write(1, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(1, json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


class Nursery:
    """The helper, begun once."""

    process: "subprocess.Popen[str] | None" = None

    @classmethod
    def visit(cls, after: int, **visit: Any) -> dict[str, bool]:
        """What a new process was answered before it ended, or was killed after so many answers."""
        if cls.process is None:
            cls.process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        out, into = cls.process.stdout, cls.process.stdin
        assert out is not None and into is not None
        into.write(json.dumps(visit) + "\n")
        into.flush()
        answers: dict[str, bool] = {}
        pid, status = 0, None
        while status is None:
            match json.loads(out.readline()):
                case int(number):
                    pid = number
                case [key, is_paid]:
                    answers[key] = is_paid
                case {"status": ended}:
                    status = ended
            if pid and status is None and len(answers) == after:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        assert status in (0, -signal.SIGKILL), status
        return answers


class Copy:
    """The store as it stood, to be put back or compared."""

    def __init__(self, location: str, folder: Path, name: str) -> None:
        self.location, self.file, self.name = location, folder / name, name
        if "://" in location:
            self._run(f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
            self._run(*(f"CREATE TABLE {name}.{table} AS TABLE dalenius.{table}" for table in TABLES))
        else:
            self.file.unlink(missing_ok=True)
            with sqlite3.connect(location) as store, sqlite3.connect(self.file) as copied:
                store.backup(copied)
            store.close()
            copied.close()

    def _run(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.location, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def put_back(self) -> None:
        """Instead of the store that is there; the anchor stays."""
        if "://" in self.location:
            self._run("TRUNCATE " + ", ".join(f"dalenius.{name}" for name in TABLES) + " CASCADE")
            back = (f"INSERT INTO dalenius.{name} SELECT * FROM {self.name}.{name}" for name in TABLES)
            self._run("SET session_replication_role = replica; " + "; ".join(back))
        else:
            for path in (self.location, f"{self.location}-wal", f"{self.location}-shm"):
                Path(path).unlink(missing_ok=True)
            shutil.copy(self.file, self.location)


def connect(location: str) -> Callable[..., list[Any]]:
    """Statements of somebody who can write to the store and minds no guard."""
    if "://" in location:
        import psycopg

        connection: Any = psycopg.connect(location, autocommit=True)
        connection.execute("SET search_path = dalenius")
        connection.execute("SET session_replication_role = replica")
    else:
        connection = sqlite3.connect(location, isolation_level=None)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")

    def run(sql: str, *values: Any) -> list[Any]:
        cursor = connection.execute(sql.replace("?", "%s") if "://" in location else sql, values)
        return cursor.fetchall() if cursor.description else []

    run.close = connection.close  # type: ignore[attr-defined]
    return run


def tamper(location: str, rng: random.Random, older: str | None) -> str:
    """Change one thing in the store, or put an older row back; what was done, empty if nothing changed."""
    run = connect(location)
    try:
        table = rng.choice(["balances", *schema.STATE, "tree", "head", "entries"])
        columns = list(schema.STATE[table].stored) if table in schema.STATE else _COLUMNS[table]
        listed = ", ".join(columns)
        rows = sorted(run(f"SELECT {listed} FROM {table}"), key=repr)
        if not rows:
            return ""
        row = rng.choice(rows)
        match rng.choice(["change", "change", "change", "delete", "older"]):
            case "delete":
                _write(run, table, columns, row, None)
            case "older" if older is not None:
                earlier = [r for r in connect_copy(older, table, listed) if r[: _keys(table)] == row[: _keys(table)]]
                if not earlier or tuple(earlier[0]) == tuple(row):
                    return ""
                _write(run, table, columns, row, earlier[0])
            case _:
                place = rng.randrange(len(row))
                changed = (*row[:place], _other(row[place], rng), *row[place + 1 :])
                if any(tuple(r)[: _keys(table)] == changed[: _keys(table)] for r in rows if r is not row):
                    return ""
                _write(run, table, columns, row, changed)
        return f"{table}: {row}"
    except Exception as error:
        # The database itself refuses: a constraint holds, and nothing was changed.
        if type(error).__module__.split(".")[0] in ("sqlite3", "psycopg"):
            return ""
        raise
    finally:
        run.close()  # type: ignore[attr-defined]


_COLUMNS = {
    "tree": ["place", "content"],
    "head": ["id", "seq", "digest", "salt", "signature"],
    "entries": ["seq", "name", "kind", "population", "line", "previous", "digest"],
}


def _keys(table: str) -> int:
    return schema.STATE[table].keys or 1 if table in schema.STATE else 1


def connect_copy(older: str, table: str, listed: str) -> list[Any]:
    """Rows of a table in an older copy of the store."""
    location, _, name = older.partition("#")
    if "://" in location:
        run = connect(location)
        try:
            return run(f"SELECT {listed} FROM {name}.{table}")
        finally:
            run.close()  # type: ignore[attr-defined]
    connection = sqlite3.connect(older)
    try:
        return connection.execute(f"SELECT {listed} FROM {table}").fetchall()
    finally:
        connection.close()


def _write(run: Callable[..., list[Any]], table: str, columns: list[str], old: Any, new: Any) -> None:
    condition = " AND ".join(f"{column} IS NOT DISTINCT FROM ?" for column in columns)
    if new is None:
        run(f"DELETE FROM {table} WHERE {condition}", *old)
    else:
        values = ", ".join(f"{column} = ?" for column in columns)
        run(f"UPDATE {table} SET {values} WHERE {condition}", *new, *old)


def _other(value: Any, rng: random.Random) -> Any:
    match value:
        case None:
            return rng.randrange(100)
        case bytes():
            place = rng.randrange(len(value))
            return value[:place] + bytes([value[place] ^ 1 << rng.randrange(8)]) + value[place + 1 :]
        case str():
            return value + rng.choice("0a") if rng.random() < 0.5 or not value else value[:-1]
        case _:
            return rng.choice([value + 1, value - 1 if value else 2, 0 if value else 3])


class Life(RuleBasedStateMachine):
    """Two populations, several processes and one custodian."""

    place: Callable[[], tuple[str, Path]]
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.location, self.folder = type(self).place()
        self.now, self.count = 1000.0, 0
        self.where = {"location": self.location, "anchor": self.folder / "anchor", "keys": self.folder / "keys"}
        self.model: dict[str, Any] = {
            "limit": {"people": 0, "others": 0},
            "spent": {"people": 0, "others": 0},
            "own": {"people": 0, "others": 0},
            "quotas": {},
            "by": {},
            "waves": {},
            "wave": {},
            "overlap": False,
            "keys": {},
        }
        self.backup: tuple[Copy, dict[str, Any], int] | None = None
        self.ledgers: list[Ledger] = []
        self.open()
        for population, dataset in DATA.items():
            for version in "12":
                self.ledgers[0].declarations.register(population, dataset, version, "fingerprint", "domain")
            self.ledgers[0].declarations.grant(population, "add-remove", 0, 0, by="custodian")

    def teardown(self) -> None:
        if not self.ledgers:
            self.open()
        report = self.ledgers[0].reader.verify()
        assert report.is_ok, report.problems
        self.close_all()

    def close_all(self) -> None:
        while self.ledgers:
            self.ledgers.pop().close()

    @property
    def ledger(self) -> Ledger:
        if not self.ledgers:
            self.open()
        self.count += 1
        return self.ledgers[self.count % len(self.ledgers)]

    def make(self) -> Ledger:
        return Ledger.open(**self.where, clock=lambda: self.now, lease_seconds=10.0, wait_seconds=0.0)

    @rule()
    def open(self) -> None:
        if len(self.ledgers) < 3:
            self.ledgers.append(self.make())

    @precondition(lambda self: self.ledgers)
    @rule(which=st.integers(0, 2))
    def close(self, which: int) -> None:
        self.ledgers.pop(which % len(self.ledgers)).close()

    @rule(seconds=st.sampled_from([1, 20]))
    def clock(self, seconds: int) -> None:
        self.now += seconds

    @rule(population=st.sampled_from(sorted(DATA)), units=st.integers(0, 300))
    def grant(self, population: str, units: int) -> None:
        self.ledger.declarations.grant(population, "add-remove", Fraction(units, UNITS), 0, by="custodian")
        self.model["limit"][population] += units

    @rule(analyst=st.sampled_from("ab"), units=st.integers(0, 200))
    def quota(self, analyst: str, units: int) -> None:
        self.ledger.declarations.quota("people", analyst, Fraction(units, UNITS), 0, by="custodian")
        self.model["quotas"][analyst] = max(units, self.model["by"].get(analyst, 0))

    @rule(units=st.tuples(st.integers(0, 150), st.integers(0, 150)))
    def waves(self, units: tuple[int, int]) -> None:
        waves = [(version, Fraction(amount, UNITS), 0) for version, amount in zip("12", units, strict=True)]
        if sum(units) > self.model["limit"]["people"]:
            with suppress(ParameterError):
                self.ledger.declarations.schedule("people", waves, by="custodian")
                raise AssertionError("more than was granted")
            return
        self.ledger.declarations.schedule("people", waves, by="custodian")
        for version, amount in zip("12", units, strict=True):
            self.model["waves"][version] = max(amount, self.model["wave"].get(version, 0))

    @rule()
    def overlap(self) -> None:
        model, own = self.model, self.model["own"]
        is_payable = all(
            model["spent"][payer] + own[other] <= model["limit"][payer]
            for payer, other in (("people", "others"), ("others", "people"))
        )
        try:
            self.ledger.declarations.overlap("people", "others", by="custodian")
        except Conflict:
            assert not is_payable and not model["overlap"]
            return
        assert is_payable or model["overlap"]
        if not model["overlap"]:
            model["spent"]["people"] += own["others"]
            model["spent"]["others"] += own["people"]
            model["overlap"] = True

    def payers(self, population: str) -> list[str]:
        return sorted(DATA) if self.model["overlap"] else [population]

    def charge(self, population: str, key: str, units: int, analyst: str, version: str) -> Charge:
        beside = tuple(name for name in self.payers(population) if name != population)
        return charge_of(population, key, units, analyst, version, beside)

    def refusal(self, population: str, units: int, analyst: str, version: str) -> type[DaleniusError] | None:
        """What a new charge must be refused with, if anything."""
        model = self.model
        if model["by"].get(analyst, 0) + units > model["quotas"].get(analyst, NO_QUOTA):
            return QuotaExhausted
        wave = model["wave"].get(version, 0) + units
        is_scheduled = population == "people" and model["waves"]
        if (is_scheduled and wave > model["waves"].get(version, -1)) or any(
            model["spent"][payer] + units > model["limit"][payer] for payer in self.payers(population)
        ):
            return BudgetExhausted
        return None

    def paid(self, population: str, key: str, units: int, analyst: str, version: str, held: Any) -> None:
        model = self.model
        for payer in self.payers(population):
            model["spent"][payer] += units
        model["own"][population] += units
        if population == "people":
            model["by"][analyst] = model["by"].get(analyst, 0) + units
            model["wave"][version] = model["wave"].get(version, 0) + units
        model["keys"][key] = {
            "request": (population, key, units, analyst, version),
            "until": self.now + 10,
            "held": held,
            "document": None,
            "status": "",
        }

    @rule(
        population=st.sampled_from(sorted(DATA)),
        key=st.sampled_from("uvwxyz"),
        units=st.integers(0, 120),
        analyst=st.sampled_from("ab"),
        version=st.sampled_from("12"),
    )
    def reserve(self, population: str, key: str, units: int, analyst: str, version: str) -> None:
        analyst = analyst if population == "people" else "z"
        known, expected = self.model["keys"].get(key), None
        if known is None:
            expected = self.refusal(population, units, analyst, version)
        else:
            # The same request again, by whoever asked first.
            population, key, units, analyst, version = known["request"]
            if known["document"] is None:
                expected = Conflict if self.now < known["until"] else None
            elif known["status"] == "withdrawn":
                expected = NotPublic
        try:
            held = self.ledger.reserve(self.charge(population, key, units, analyst, version))
        except DaleniusError as refused:
            assert type(refused) is expected, (expected, refused)
            return
        assert expected is None
        if known is None:
            self.paid(population, key, units, analyst, version, held)
        elif known["document"] is None:
            known |= {"held": held, "until": self.now + 10}
        else:
            assert held.stored is not None and held.stored.document == known["document"]

    @rule(key=st.sampled_from("uvwxyz"), noise=st.binary(max_size=4))
    def release(self, key: str, noise: bytes) -> None:
        known = self.model["keys"].get(key)
        if known is None or known["held"] is None or known["status"] == "withdrawn":
            return
        stored = self.ledger.commit(known["held"], noise)
        if known["document"] is None:
            known |= {"document": noise, "status": "published", "entry": stored.entry}
        assert stored.document == known["document"]

    @rule(key=st.sampled_from("uvwxyz"))
    def withdraw(self, key: str) -> None:
        known = self.model["keys"].get(key)
        if known is not None and known["document"] is not None:
            self.ledger.set_status(known["entry"], "withdrawn", by="custodian")
            known["status"] = "withdrawn"

    @rule(units=st.integers(1, 60))
    def die_before_the_anchor(self, units: int) -> None:
        """The line is on disk and its head is not anchored: what a power failure leaves."""
        ledger, key = self.ledger, f"died {self.count}"
        expected = self.refusal("others", units, "z", "1")
        real = AnchorFile.append

        def dies(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        AnchorFile.append = dies  # type: ignore[method-assign]
        try:
            ledger.reserve(self.charge("others", key, units, "z", "1"))
            raise AssertionError("it was answered")
        except KeyboardInterrupt:
            assert expected is None
            self.paid("others", key, units, "z", "1", None)
            self.ledgers.remove(ledger)
            ledger.close()
        except BudgetExhausted:
            assert expected is BudgetExhausted
        finally:
            AnchorFile.append = real  # type: ignore[method-assign]

    @rule(units=st.lists(st.integers(1, 40), min_size=1, max_size=4), after=st.integers(0, 5))
    def process(self, units: list[int], after: int) -> None:
        """Another process comes, pays what it can, and is killed after so many answers unless it ends before."""
        self.count += 1
        beside = ["people"] if self.model["overlap"] else []
        charges = [
            ["others", f"visit {self.count} {number}", amount, "z", "1", beside] for number, amount in enumerate(units)
        ]
        place = {name: str(value) for name, value in self.where.items()}
        answers = Nursery.visit(after, place=place, charges=charges, now=self.now)
        written = {e.body["key"] for e in self.ledger.reader.entries("others") if e.kind == "charge"}
        for (_, key, *_), amount in zip(charges, units, strict=True):
            answered = answers.get(key)
            if key in written:
                assert answered is not False and self.refusal("others", amount, "z", "1") is None
                self.paid("others", key, amount, "z", "1", None)
            else:
                assert answered is not True
                assert answered is None or self.refusal("others", amount, "z", "1") is BudgetExhausted

    @rule()
    def back_up(self) -> None:
        head = self.ledger.head.seq
        self.backup = (Copy(self.location, self.folder, "backup"), copy.deepcopy(self.model), head)

    @precondition(lambda self: self.backup is not None)
    @rule(is_final=st.booleans())
    def roll_back(self, is_final: bool) -> None:
        """The older store beside the newer anchor is refused; then the newer one comes back, or its lines are lost."""
        assert self.backup is not None
        older, model, seq = self.backup
        has_more = self.ledger.head.seq > seq
        self.close_all()
        is_older = self.anchored() > seq
        newest = Copy(self.location, self.folder, "newest")
        older.put_back()
        try:
            self.open()
            assert not is_older, "an older store was opened"
            if has_more:
                # Only lines whose head was never anchored are gone: nobody was told of them.
                self.model = copy.deepcopy(model)
        except AnchorMismatch:
            assert is_older
            if is_final:
                restore(**self.where, by="custodian", note="lost")
                self.model, self.backup = self.forfeited(copy.deepcopy(model)), None
            else:
                newest.put_back()
        self.open()

    def anchored(self) -> int:
        """The last line that the anchor knows."""
        lines = filter(None, Path(self.where["anchor"]).read_text().splitlines())
        return max(int(json.loads(line)["seq"]) for line in lines)

    def forfeited(self, model: dict[str, Any]) -> dict[str, Any]:
        """What is left of every limit counts as spent, for releases about its own population."""
        for population, limit in model["limit"].items():
            model["own"][population] += limit - model["spent"][population]
            model["spent"][population] = limit
        model["by"] |= model["quotas"]
        model["wave"] |= model["waves"]
        return model

    @rule(seed=st.integers(0, 10**6))
    def tamper(self, seed: int) -> None:
        """Whatever is changed in the store, it is not opened; put right again, it is."""
        self.close_all()
        before = Copy(self.location, self.folder, "before")
        older = None
        if self.backup is not None:
            older = f"{self.location}#backup" if "://" in self.location else str(self.folder / "backup")
        done = tamper(self.location, random.Random(seed), older)
        if not done:
            before.put_back()
        try:
            self.open()
            assert not done, done
        except (LedgerCorrupt, AnchorMismatch):
            assert done
            before.put_back()
            self.open()

    @invariant()
    def balances(self) -> None:
        Life.steps += 1
        for population in DATA:
            account = self.ledger.reader.account(population)
            found = (account.limit.rho * UNITS, account.spent.rho * UNITS)
            assert found == (self.model["limit"][population], self.model["spent"][population])


if __name__ == "__main__":
    nursery()
