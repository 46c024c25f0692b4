"""What the custodian declares: files, budgets, quotas, caps, shares, schedules, approval, and notes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.budget import MASTER, units_down
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.ledger.administer import DeclareOverlap, Grant, Limit, Note, OpenAccount, Register
from dalenius.ledger.charge import PAGES, Registration
from dalenius.ledger.draft import Command
from dalenius.ledger.entry import Entry, canonical_body
from dalenius.ledger.state import LIMIT_KINDS


@dataclass(frozen=True)
class Declarations:
    """The custodian's side of a ledger: each declaration is a line, handed to `submit`."""

    submit: Callable[[Command], Any]

    def register(
        self, population: str, dataset: str, version: str, fingerprint: str, domain_digest: str, by: str = ""
    ) -> Registration:
        """Tie a file to its version; `DataChanged` if another file is registered under it."""
        command = Register(
            population=population,
            dataset=dataset,
            version=version,
            fingerprint=fingerprint,
            domain_digest=domain_digest,
            by=by,
        )
        return self.submit(command)  # type: ignore[no-any-return]

    def grant(
        self,
        population: str,
        relation: Relation | str,
        rho: object,
        delta: object,
        by: str,
        note: str = "",
        page: str = MASTER,
    ) -> Entry:
        """Add to the population's budget on a page."""
        body = _amounts(rho, delta, page) | {"relation": str(Relation(relation)), "note": note}
        return self.submit(  # type: ignore[no-any-return]
            Grant(population=population, relation=Relation(relation), body=body, by=by)
        )

    def _limit(self, kind: str, population: str, name: str, rho: object, delta: object, by: str, page: str) -> Entry:
        body = _amounts(rho, delta, page) | {"purse": LIMIT_KINDS[kind], "name": name, "as": kind}
        return self.submit(Limit(kind="limit", population=population, body=body, by=by))  # type: ignore[no-any-return]

    def quota(self, population: str, analyst: str, rho: object, delta: object, by: str, page: str = MASTER) -> Entry:
        """Set what an analyst may spend in all; what was spent before counts."""
        return self._limit("quota", population, analyst, rho, delta, by, page)

    def cap(self, population: str, variable: str, rho: object, delta: object, by: str, page: str = MASTER) -> Entry:
        """Set what all requests that use a sensitive variable may spend together."""
        return self._limit("cap", population, variable, rho, delta, by, page)

    def share(self, population: str, rho: object, delta: object, by: str, page: str = MASTER) -> Entry:
        """Keep a share of the budget back for official tables."""
        return self._limit("share", population, "", rho, delta, by, page)

    def approval(self, population: str, above: object, by: str) -> Entry:
        """Ask for a second person's approval of every charge of more than this rho; None asks no more."""
        body = {"above": None if above is None else _amounts(above, 0, MASTER)["units"]["rho"]}
        limit = Limit(kind="approval", population=population, body=body, by=by)
        return self.submit(limit)  # type: ignore[no-any-return]

    def schedule(
        self, population: str, waves: Iterable[tuple[str, object, object]], by: str, page: str = MASTER
    ) -> Entry:
        """Spread the budget over versions: (version, rho, delta) for each wave. Others are then refused."""
        _amounts(0, 0, page)
        body = {
            "page": page,
            "waves": [
                {"version": version} | dict(_amounts(rho, delta, page)["units"]) for version, rho, delta in waves
            ],
        }
        limit = Limit(kind="schedule", population=population, body=body, by=by)
        return self.submit(limit)  # type: ignore[no-any-return]

    def open_account(self, population: str, declare: "Callable[[Declarations], None]") -> bool:
        """Write all that `declare` declares as one segment; False, and nothing, if the account is open already."""
        parts: list[Command] = []
        declare(Declarations(parts.append))
        return bool(self.submit(OpenAccount(population=population, parts=tuple(parts))))

    def overlap(self, population: str, other: str, by: str) -> Entry | None:
        """Declare that two populations share some persons: each account pays for what was and will be released about
        either.
        """
        return self.submit(DeclareOverlap(population=population, other=other, by=by))  # type: ignore[no-any-return]

    def note(self, kind: str, payload: Mapping[str, Any], by: str, population: str = "") -> Entry:
        """Record something that costs nothing, such as an inspection by the custodian."""
        body = {"kind": kind, "payload": dict(payload)}
        canonical_body(body)
        return self.submit(Note(kind="note", population=population, body=body, by=by))  # type: ignore[no-any-return]


def _amounts(rho: object, delta: object, page: str) -> dict[str, Any]:
    """Exact amounts and their units, rounded down because they are limits."""
    exact = {"rho": rational(rho, "rho"), "delta": rational(delta, "delta")}
    if page not in PAGES:
        raise ParameterError(f"page must be one of {', '.join(PAGES)}; received {page!r}.")
    for name, most in (("rho", 1000), ("delta", 1)):
        if not 0 <= exact[name] <= most:
            raise ParameterError(f"{name} must lie between 0 and {most}; received {plain(exact[name])}.", name=name)
    return {
        "page": page,
        "amounts": {name: plain(amount) for name, amount in exact.items()},
        "units": {name: units_down(amount) for name, amount in exact.items()},
    }
