"""What the custodian declares: files, budgets, quotas, caps, shares, schedules, approval, and notes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dalenius.core.budget import units_down
from dalenius.core.neighbours import Relation
from dalenius.core.rationals import plain, rational
from dalenius.errors import InternalError, LedgerMismatch, ParameterError
from dalenius.ledger import schema
from dalenius.ledger.administer import Grant, Limit, Note, OpenAccount, Register, SetStatus
from dalenius.ledger.books import Books
from dalenius.ledger.charge import MASTER, PAGES, Registration, StoredRelease
from dalenius.ledger.draft import Command
from dalenius.ledger.entry import Entry, canonical_body, digest_of
from dalenius.ledger.keys import KeyFolder
from dalenius.ledger.state import LIMIT_KINDS
from dalenius.ledger.store import Lost
from dalenius.ledger.writer import Sealed, Writer


class Declarations(Books):
    """The custodian's side of a ledger: each declaration is a line."""

    _writer: Writer | Sealed
    _keys: KeyFolder

    def _submit(self, command: Command) -> Any:
        try:
            return self._writer.submit(command)[0]
        except Lost as error:
            # A grant repeated blindly would be granted twice.
            raise InternalError(
                "The connection to the ledger's database was lost while this was written. "
                "Look at the statement before you repeat it."
            ) from error

    def open_account(self, population: str, declare: Callable[["Declarations"], None]) -> bool:
        """Write all that `declare` declares as one segment; False, and nothing, if the account is open already."""
        noted = _Noted()
        declare(noted)
        return bool(self._submit(OpenAccount(population=population, parts=tuple(noted.commands))))

    def secret(self, population: str) -> bytes:
        """The population's 32 secret bytes, made once; the ledger holds only a value to recognise them by."""
        known = self._ask(schema.CHECKS + " WHERE population = ?", (population,))
        name = f"population/{population}"
        found = self._keys.find(name)
        if known and found is None:
            raise LedgerMismatch(
                f"The secret of population {population!r} is missing; restore its key file from the backup.",
                population=population,
            )
        if found is None and isinstance(self._writer, Sealed):
            raise LedgerMismatch(f"The secret of population {population!r} is not in this folder of keys.")
        secret = found or self._keys.get_or_make(name)
        check = digest_of(b"dalenius/secret-check/1\0" + secret)
        body = {"check": check}
        right = (
            known[0][1]
            if known
            else self._submit(Note(kind="secret", population=population, body=body, by=""))
        )
        if right != check:
            raise LedgerMismatch(f"The key file of {population!r} does not belong to this ledger.")
        return secret

    def register(
        self,
        population: str,
        dataset: str,
        version: str,
        fingerprint: str,
        domain_digest: str,
        by: str = "",
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
        return self._submit(command)  # type: ignore[no-any-return]

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
        return self._submit(  # type: ignore[no-any-return]
            Grant(population=population, relation=Relation(relation), body=body, by=by)
        )

    def _limit(
        self, kind: str, population: str, name: str, rho: object, delta: object, by: str, page: str
    ) -> Entry:
        body = _amounts(rho, delta, page) | {"purse": LIMIT_KINDS[kind], "name": name, "as": kind}
        return self._submit(Limit(kind="limit", population=population, body=body, by=by))  # type: ignore[no-any-return]

    def quota(
        self, population: str, analyst: str, rho: object, delta: object, by: str, page: str = MASTER
    ) -> Entry:
        """Set what an analyst may spend in all; what was spent before counts."""
        return self._limit("quota", population, analyst, rho, delta, by, page)

    def quota_on_every_page(
        self, population: str, analyst: str, rho: object, delta: object, by: str
    ) -> tuple[Entry, ...]:
        """Set the same quota on each page that has a budget; on a page without one the analyst is refused."""
        pages = self.account(population).pages
        return tuple(self.quota(population, analyst, rho, delta, by, page) for page in pages)

    def cap(
        self, population: str, variable: str, rho: object, delta: object, by: str, page: str = MASTER
    ) -> Entry:
        """Set what all requests that use a sensitive variable may spend together."""
        return self._limit("cap", population, variable, rho, delta, by, page)

    def share(self, population: str, rho: object, delta: object, by: str, page: str = MASTER) -> Entry:
        """Keep a share of the budget back for official tables."""
        return self._limit("share", population, "", rho, delta, by, page)

    def approval(self, population: str, above: object, by: str) -> Entry:
        """Ask for a second person's approval of every charge of more than this rho; None asks no more."""
        limit = None if above is None else _amounts(above, 0, MASTER)["units"]["rho"]
        body = {"above": limit}
        return self._submit(Limit(kind="approval", population=population, body=body, by=by))  # type: ignore[no-any-return]

    def schedule(
        self, population: str, waves: Iterable[tuple[str, object, object]], by: str, page: str = MASTER
    ) -> Entry:
        """Spread the budget over versions: (version, rho, delta) for each wave. Others are then refused."""
        _amounts(0, 0, page)
        body = {
            "page": page,
            "waves": [
                {"version": version} | dict(_amounts(rho, delta, page)["units"])
                for version, rho, delta in waves
            ],
        }
        return self._submit(Limit(kind="schedule", population=population, body=body, by=by))  # type: ignore[no-any-return]

    def note(self, kind: str, payload: Mapping[str, Any], by: str, population: str = "") -> Entry:
        """Record something that costs nothing, such as an inspection by the custodian."""
        body = {"kind": kind, "payload": dict(payload)}
        canonical_body(body)
        return self._submit(Note(kind="note", population=population, body=body, by=by))  # type: ignore[no-any-return]

    def set_status(self, entry: str, status: str, by: str) -> StoredRelease:
        """Publish, embargo or withdraw; the charge stands."""
        return self.release(self._submit(SetStatus(entry=entry, status=str(status), by=by)))


class _Noted(Declarations):
    """Declarations that are noted down instead of written."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def _submit(self, command: Command) -> Any:
        self.commands.append(command)


def _amounts(rho: object, delta: object, page: str) -> dict[str, Any]:
    """Exact amounts and their units, rounded down because they are limits."""
    exact = {"rho": rational(rho, "rho"), "delta": rational(delta, "delta")}
    if page not in PAGES:
        raise ParameterError(f"page must be one of {', '.join(PAGES)}; received {page!r}.")
    for name, most in (("rho", 1000), ("delta", 1)):
        if not 0 <= exact[name] <= most:
            raise ParameterError(
                f"{name} must lie between 0 and {most}; received {plain(exact[name])}.", name=name
            )
    return {
        "page": page,
        "amounts": {name: plain(amount) for name, amount in exact.items()},
        "units": {name: units_down(amount) for name, amount in exact.items()},
    }
