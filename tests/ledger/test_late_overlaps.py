"""Overlaps that are declared after releases, in every order: an account holds what concerns its persons, all of it and nothing twice."""

import json
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.overlap_load import charge

from dalenius.core.budget import MASTER, UNIT
from dalenius.ledger import Ledger, administer, state
from dalenius.ledger.account import TOTAL, BalanceKey
from dalenius.ledger.administer import DeclareOverlap, Grant, Register
from dalenius.ledger.declarations import _budget
from dalenius.ledger.draft import Draft, Head
from dalenius.ledger.entry import GENESIS
from dalenius.ledger.reserve import Reserve
from dalenius.ledger.state import State

# Every sum of these tells which of them it is made of, and how often.
LOSSES = {"a": 1, "b": 20, "c": 400, "d": 8000}
Step = str | tuple[str, str]


class Book:
    """A ledger without a store: the commands decide, the lines are folded."""

    def __init__(self, names: Iterable[str]) -> None:
        self.draft = Draft(State(), Head(0, GENESIS), 0.0)
        self.pairs: set[frozenset[str]] = set()
        self.own = dict.fromkeys(names, 0)
        for name in self.own:
            body = _budget(1, 0, MASTER) | {"relation": "add-remove", "note": ""}
            Register(
                population=name, dataset=name, version="1", fingerprint="fingerprint", domain_digest="d", by=""
            ).decide(self.draft)
            Grant(population=name, body=body, by="").decide(self.draft)

    def neighbours(self, name: str) -> list[str]:
        return sorted(other for other in self.own if frozenset({name, other}) in self.pairs)

    def do(self, step: Step) -> None:
        if isinstance(step, str):
            key = f"{step}{self.own[step]}"
            Reserve.of(charge(step, key, LOSSES[step], self.neighbours(step))).decide(self.draft)
            self.own[step] += LOSSES[step]
            return
        DeclareOverlap(population=step[0], other=step[1], by="").decide(self.draft)
        self.pairs.add(frozenset(step))

    def spent(self, name: str) -> int:
        return self.draft.state.balance(BalanceKey(name, MASTER, TOTAL, "")).spent_rho

    def check_covered(self) -> None:
        """A person may be in populations of which each two share persons: what was released about them is in each account."""
        for size in range(1, len(self.own) + 1):
            for group in combinations(self.own, size):
                if all(frozenset(pair) in self.pairs for pair in combinations(group, 2)):
                    released = sum(self.own[name] for name in group)
                    assert all(released <= self.spent(name) for name in group), group

    def check_exact(self) -> None:
        """Nothing is paid that concerns no person of the population, and nothing twice."""
        for name in self.own:
            assert self.spent(name) == self.own[name] + sum(self.own[other] for other in self.neighbours(name))


def orders() -> Iterator[tuple[Step, ...]]:
    """Every order of a release about each of three populations and of every set of overlaps; then longer ones, at random."""
    edges = list(combinations("abc", 2))
    for size in range(len(edges) + 1):
        for chosen in combinations(edges, size):
            yield from permutations((*"abc", *chosen))
    draw = random.Random(1)
    four = list(combinations("abcd", 2))
    for _ in range(400):
        steps: list[Step] = [*draw.choices("abcd", k=6), *draw.sample(four, draw.randrange(1, 7))]
        draw.shuffle(steps)
        # Whichever of the two declares it; and some do it again.
        steps = [s if isinstance(s, str) or draw.random() < 0.5 else (s[1], s[0]) for s in steps]
        pairs = [s for s in steps if not isinstance(s, str)]
        yield (*steps, *draw.choices([*pairs, *(p[::-1] for p in pairs)], k=2))


def run(steps: Iterable[Step]) -> Book:
    book = Book("abcd")
    for step in steps:
        book.do(step)
        book.check_covered()
    return book


def test_in_every_order_an_account_holds_what_concerns_its_persons_and_each_release_once() -> None:
    for steps in orders():
        run(steps).check_exact()


def test_a_past_that_is_not_charged_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administer, "past_of", lambda *_: [])
    with pytest.raises(AssertionError):
        run(("a", ("a", "b")))


def test_a_past_that_is_read_from_balances_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a chain the first would pay for the third, and in a triangle twice."""

    def from_balances(books: State, *pair: str) -> list[list[Any]]:
        return state.past_of(replace(books, own_spending=books.balances), *pair)

    monkeypatch.setattr(administer, "past_of", from_balances)
    chain = run((("b", "c"), "c", ("a", "b")))
    assert (chain.spent("a"), chain.spent("b")) == (400, 400)
    with pytest.raises(AssertionError):
        chain.check_exact()
    assert run((("b", "c"), ("a", "c"), "c", ("a", "b"))).spent("a") == 800


def test_what_was_forfeited_counts_as_released_about_its_own_population() -> None:
    """Nobody knows what the lost lines were about."""
    book = Book("ab")
    body = {"account": MASTER, "cost": {}, "balances": [["total", "", 70, 0], ["unreserved", "", 90, 0]]}
    book.draft.emit("forfeit", population="b", by="", body=body)
    book.do(("a", "b"))
    assert book.spent("a") == 70
    assert book.draft.state.balance(BalanceKey("a", MASTER, TOTAL, "")).impure == 1


def prepared(location: str, folder: Path, names: str = "abc") -> Ledger:
    ledger = Ledger.open(location, anchor=folder / "anchor", keys=folder / "keys")
    for name in names:
        ledger.declarations.register(name, name, "1", "fingerprint", "domain")
        ledger.declarations.grant(name, "add-remove", 1, 0, by="custodian")
    return ledger


def spent(ledger: Ledger, *names: str) -> list[int]:
    return [int(ledger.reader.account(name).spent.rho / UNIT) for name in names]


def test_a_chain_and_a_triangle_in_a_store(location: str, tmp_path: Path) -> None:
    with prepared(location, tmp_path) as ledger:
        ledger.reserve(charge("c", "c0", 400))
        ledger.reserve(charge("b", "b0", 20))
        ledger.declarations.overlap("b", "c", "custodian")
        ledger.declarations.overlap("a", "b", "custodian")
        assert spent(ledger, *"abc") == [20, 420, 420]
        ledger.reserve(charge("b", "b1", 20, ["a", "c"]))
        assert ledger.declarations.overlap("b", "a", "custodian") is None
        ledger.declarations.overlap("c", "a", "custodian")
        assert spent(ledger, *"abc") == [440, 440, 440]
        assert ledger.reader.verify().is_ok


@pytest.mark.timeout(300)
def test_processes_that_declare_and_release_at_the_same_time(location: str, tmp_path: Path) -> None:
    """Six processes, each with its own opening of one ledger: both accounts pay for everything, once."""
    prepared(location, tmp_path).close()
    config = {"location": location, "folder": str(tmp_path), "workers": 6, "requests": 12}
    program = Path(__file__).with_name("overlap_load.py")
    done = subprocess.run(
        [sys.executable, str(program), json.dumps(config)], check=False, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    with Ledger.open(location, anchor=tmp_path / "anchor", keys=tmp_path / "keys") as ledger:
        entries = ledger.reader.entries()
        charges = [entry for entry in entries if entry.kind == "charge"]
        keys = [entry.body["key"] for entry in charges]
        assert len(keys) == len(set(keys)) == 6 * 12 + 3, "each request is charged once, the shared ones too"
        declared = sorted(sorted((e.population, e.body["with"])) for e in entries if e.kind == "overlap")
        assert declared == [["a", "b"], ["b", "c"]]
        own = {n: sum(e.body["units"]["rho"] for e in charges if e.population == n) for n in "abc"}
        expected = [own["a"] + own["b"], sum(own.values()), own["b"] + own["c"]]
        assert spent(ledger, *"abc") == expected
        late = [e for e in entries if e.kind == "overlap" and e.body["past"]]
        assert len(late) == 2, "declared in the middle: something was released before"
        assert any(e.body.get("overlaps") for e in charges), "and something after"
        assert ledger.reader.verify().is_ok
        assert Fraction(sum(own.values())) > 0
