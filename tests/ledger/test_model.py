"""A random life of a ledger against a model of a few lines: what is refused, what is left, what is answered."""

import shutil
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dalenius.core.budget import Cost
from dalenius.core.neighbours import Relation
from dalenius.errors import BudgetExhausted, Conflict, DaleniusError, NotPublic, QuotaExhausted
from dalenius.ledger import Charge, Ledger, Reservation

UNITS = 10**12
BASE = Charge(
    population="people",
    relation=Relation.ADD_REMOVE,
    dataset="census",
    version="1",
    key="0",
    request={},
    definition="zero_concentrated",
    budget={},
    cost=Cost(relation=Relation.ADD_REMOVE, rho=Fraction(0)),
    fingerprint="fingerprint",
)


class Life(RuleBasedStateMachine):
    """Two connections to one ledger, and a dictionary that knows what must be true."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="dalenius-life-"))
        self.now = 1000.0
        self.ledgers = [
            Ledger.open(self.folder / "ledger.db", clock=lambda: self.now, lease_seconds=10.0, wait_seconds=0.0)
            for _ in range(2)
        ]
        self.ledgers[0].declarations.register("people", "census", "1", "fingerprint", "domain")
        self.ledgers[0].declarations.grant("people", "add-remove", 0, 0, by="custodian")
        self.limit = self.spent = 0
        self.quotas: dict[str, int] = {}
        self.by: dict[str, int] = {}
        self.keys: dict[str, dict[str, object]] = {}

    def teardown(self) -> None:
        report = self.ledgers[0].reader.verify()
        assert report.is_ok, report.problems
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.folder)

    @rule(units=st.integers(0, 300))
    def grant(self, units: int) -> None:
        self.ledgers[0].declarations.grant("people", "add-remove", Fraction(units, UNITS), 0, by="custodian")
        self.limit += units

    @rule(analyst=st.sampled_from("ab"), units=st.integers(0, 200))
    def quota(self, analyst: str, units: int) -> None:
        self.ledgers[1].declarations.quota("people", analyst, Fraction(units, UNITS), 0, by="custodian")
        self.quotas[analyst] = max(units, self.by.get(analyst, 0))

    @rule(seconds=st.sampled_from([1, 20]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(
        which=st.integers(0, 1), key=st.sampled_from("uvwxyz"), analyst=st.sampled_from("ab"), units=st.integers(0, 150)
    )
    def reserve(self, which: int, key: str, analyst: str, units: int) -> None:
        cost = Cost(relation=Relation.ADD_REMOVE, rho=Fraction(units, UNITS))
        charge = replace(BASE, key=key, analyst=analyst, cost=cost)
        known = self.keys.get(key)
        expected: type[DaleniusError] | None = None
        if known is None:
            # The analyst's own quota speaks first.
            if self.by.get(analyst, 0) + units > self.quotas.get(analyst, 10**18):
                expected = QuotaExhausted
            elif self.spent + units > self.limit:
                expected = BudgetExhausted
        elif known["document"] is None:
            expected = Conflict if self.now < float(str(known["until"])) else None
        elif known["status"] == "withdrawn" or (known["status"] != "published" and known["analyst"] != analyst):
            expected = NotPublic
        try:
            reservation = self.ledgers[which].reserve(charge)
        except DaleniusError as refusal:
            assert expected is type(refusal), (expected, refusal)
            return
        assert expected is None
        if known is None:
            self.spent += units
            self.by[analyst] = self.by.get(analyst, 0) + units
            self.keys[key] = {"analyst": analyst, "document": None, "until": self.now + 10, "held": [reservation]}
        elif known["document"] is None:
            known["until"] = self.now + 10
            held = known["held"]
            assert isinstance(held, list)
            held.append(reservation)
        else:
            assert reservation.stored is not None
            assert reservation.stored.document == known["document"]

    @rule(
        which=st.integers(0, 1),
        key=st.sampled_from("uvwxyz"),
        place=st.integers(0, 3),
        status=st.sampled_from(["published", "draft", "embargoed"]),
        noise=st.binary(max_size=4),
    )
    def commit(self, which: int, key: str, place: int, status: str, noise: bytes) -> None:
        known = self.keys.get(key)
        if known is None:
            return
        held = known["held"]
        assert isinstance(held, list)
        reservation: Reservation = held[place % len(held)]
        is_holder = reservation is held[-1] and reservation.lease != "let go"
        try:
            stored = self.ledgers[which].commit(reservation, noise, status)
        except Conflict:
            assert known["document"] is None
            assert not is_holder
            return
        except NotPublic:
            if known["document"] is None:
                # Stored for the analyst who was charged, and not shown to the one who completed it.
                assert is_holder and reservation.analyst != known["analyst"]
                known |= {"document": noise, "status": status, "entry": reservation.entry}
            assert known["status"] != "published"
            return
        if known["document"] is None:
            assert is_holder
            known |= {"document": noise, "status": status, "entry": stored.entry}
        assert stored.document == known["document"]

    @rule(key=st.sampled_from("uvwxyz"), place=st.integers(0, 3))
    def abandon(self, key: str, place: int) -> None:
        known = self.keys.get(key)
        if known is None:
            return
        held = known["held"]
        assert isinstance(held, list)
        reservation = held[place % len(held)]
        if self.ledgers[0].abandon(reservation):
            assert known["document"] is None
            assert reservation is held[-1]
            known["until"] = 0.0
            # Nobody holds the lease now: what stands last in the list cannot complete.
            held.append(replace(reservation, lease="let go"))

    @rule(key=st.sampled_from("uvwxyz"), status=st.sampled_from(["draft", "embargoed", "published", "withdrawn"]))
    def set_status(self, key: str, status: str) -> None:
        known = self.keys.get(key)
        if known is None or known["document"] is None:
            return
        order = ["draft", "embargoed", "published", "withdrawn"]
        is_forward = order.index(status) >= order.index(str(known["status"]))
        try:
            self.ledgers[0].set_status(str(known["entry"]), status, by="custodian")
        except Conflict:
            assert not is_forward
            return
        assert is_forward
        known["status"] = status

    @invariant()
    def balances(self) -> None:
        account = self.ledgers[1].reader.account("people")
        assert account.limit.rho == Fraction(self.limit, UNITS)
        assert account.spent.rho == Fraction(self.spent, UNITS)
        assert account.spent.rho <= account.limit.rho


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
