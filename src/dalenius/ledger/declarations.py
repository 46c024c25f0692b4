"""What the custodian declares: files, budgets, quotas, caps, shares, schedules, approval, overlaps and notes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.budget import MASTER, units_down
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.ledger.administer import DeclareOverlap, Grant, Limit, Note, OpenAccount, Register
from dalenius.ledger.charge import Registration, check_account
from dalenius.ledger.draft import Command
from dalenius.ledger.entry import Entry, canonical_body


@dataclass(frozen=True)
class Declarations:
    """The custodian's side of a ledger: each declaration is a line, handed to `submit`."""

    submit: Callable[[Command], Any]

    def register(
        self, population: str, dataset: str, version: str, fingerprint: str, domain_digest: str, by: str = ""
    ) -> Registration:
        """Tie a file to its version; `DataChanged` if another file is registered under it."""
        command = Register(population, dataset, version, fingerprint, domain_digest, by)
        registration: Registration = self.submit(command)
        return registration

    def grant(
        self,
        population: str,
        relation: Relation | str,
        rho: object,
        delta: object,
        by: str,
        note: str = "",
        account: str = MASTER,
    ) -> Entry:
        """Add to the budget of one of the population's accounts."""
        body = _budget(rho, delta, account) | {"relation": str(Relation(relation)), "note": note}
        return self._line(Grant(population=population, body=body, by=by))

    def quota(self, population: str, analyst: str, rho: object, delta: object, by: str, account: str = MASTER) -> Entry:
        """Set what an analyst may spend in all; what was spent before counts."""
        return self._limit("quota", population, analyst, rho, delta, by, account)

    def cap(self, population: str, variable: str, rho: object, delta: object, by: str, account: str = MASTER) -> Entry:
        """Set what all requests that use a sensitive variable may spend together."""
        return self._limit("cap", population, variable, rho, delta, by, account)

    def share(self, population: str, rho: object, delta: object, by: str, account: str = MASTER) -> Entry:
        """Reserve a share of the budget for official tables."""
        return self._limit("share", population, "", rho, delta, by, account)

    def approval(self, population: str, above: object, by: str) -> Entry:
        """Require a second person's approval of every charge above this rho; None requires none."""
        body = {"above": None if above is None else _budget(above, 0, MASTER)["units"]["rho"]}
        return self._line(Limit(kind="approval", population=population, body=body, by=by))

    def schedule(
        self, population: str, waves: Iterable[tuple[str, object, object]], by: str, account: str = MASTER
    ) -> Entry:
        """Spread the budget over versions: (version, rho, delta) for each wave. Other versions are then refused."""
        check_account(account)
        spread = [{"version": version} | _budget(rho, delta, account)["units"] for version, rho, delta in waves]
        body = {"account": account, "waves": spread}
        return self._line(Limit(kind="schedule", population=population, body=body, by=by))

    def open_account(self, population: str, declare: "Callable[[Declarations], None]") -> bool:
        """Write all that `declare` declares as one segment; False, and nothing, if the account is open already."""
        parts: list[Command] = []
        declare(Declarations(parts.append))
        return bool(self.submit(OpenAccount(population=population, parts=tuple(parts))))

    def overlap(self, population: str, other: str, by: str) -> Entry | None:
        """Declare that two populations share persons: each account pays for earlier and later releases about either."""
        entry: Entry | None = self.submit(DeclareOverlap(population=population, other=other, by=by))
        return entry

    def note(self, kind: str, payload: Mapping[str, Any], by: str, population: str = "") -> Entry:
        """Record something that costs nothing, such as an inspection by the custodian."""
        body = {"kind": kind, "payload": dict(payload)}
        canonical_body(body)
        return self._line(Note(kind="note", population=population, body=body, by=by))

    def _limit(self, kind: str, population: str, name: str, rho: object, delta: object, by: str, account: str) -> Entry:
        body = _budget(rho, delta, account) | {"kind": kind, "name": name}
        return self._line(Limit(kind="limit", population=population, body=body, by=by))

    def _line(self, command: Command) -> Entry:
        entry: Entry = self.submit(command)
        return entry


def _budget(rho: object, delta: object, account: str) -> dict[str, Any]:
    """Return a budget as exact text and in ledger units, rounded down because it is a limit."""
    check_account(account)
    exact = {"rho": rational(rho, "rho"), "delta": rational(delta, "delta")}
    for name, most in (("rho", 1000), ("delta", 1)):
        if not 0 <= exact[name] <= most:
            raise ParameterError(f"{name} must lie between 0 and {most}; received {plain(exact[name])}.", name=name)
    return {
        "account": account,
        "budget": {name: plain(value) for name, value in exact.items()},
        "units": {name: units_down(value) for name, value in exact.items()},
    }
