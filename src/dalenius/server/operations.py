"""The desk: one ledger and one curator for each data set, and what the server does with them.

Nothing here knows about HTTP or roles. Where the ledger's database went away the refusal says so; what was under way is
safe to repeat, because a request is charged once and answered by what is stored.
"""

import fcntl
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from dalenius import errors
from dalenius.core.contracts import Adjustment
from dalenius.core.plan import TablePlan
from dalenius.core.release import Status
from dalenius.core.sealed import Confidential
from dalenius.curator import rules
from dalenius.curator.curator import Curator
from dalenius.curator.planner import bounded
from dalenius.errors import LedgerCorrupt, StorageError
from dalenius.ledger import Charge, Ledger, schema
from dalenius.ledger.account import QUOTA
from dalenius.ledger.entry import Entry
from dalenius.ledger.ledger import connect
from dalenius.ledger.policy import check_ledger, ensure_quotas
from dalenius.ledger.store import ConnectionLost, read_head
from dalenius.limits import ATOMS
from dalenius.postprocess import check_show
from dalenius.server import logs
from dalenius.server.config import DatasetEntry, ServerConfig
from dalenius.server.errors import NotFound, Unavailable
from dalenius.server.views import QuotaView, ReleaseView
from dalenius.spec.batch import Asked, BatchDocument, form_of, members_of
from dalenius.spec.canonical import digest, method_of
from dalenius.spec.load import load_asked, load_dataset, load_policy, load_request
from dalenius.spec.request import RequestDocument


@contextmanager
def outages() -> Iterator[None]:
    """Turn a database that went away into one refusal; the ledger finds its way back by itself."""
    try:
        yield
    except LedgerCorrupt as error:
        logs.event("ledger broken", 50, message=error.message)
        raise
    except ConnectionLost:
        raise Unavailable("The ledger cannot be reached now; try again.") from None
    except StorageError as error:
        raise Unavailable(error.message) from None


class Catalogue:
    """Which releases there are, folded from the ledger's own lines and kept up to date line by line.

    A look-up costs one read of the ledger's head; only lines that are new since then are read. Documents are not held
    here.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._store: Any = None
        self._seq = 0
        self._looked = float("-inf")
        self._charged: dict[str, ReleaseView] = {}
        self._keys: dict[str, str] = {}
        self._requests: dict[str, list[str]] = {}
        self._releases: dict[str, ReleaseView] = {}
        self.were_public: set[str] = set()

    def refreshed(self) -> Mapping[str, ReleaseView]:
        """Releases as of now, oldest first; do not change the mapping."""
        with self._lock, outages():
            try:
                if self._store is None:
                    self._store = connect(self._location)
                head = read_head(self._store)
                if head.seq > self._seq:
                    rows = self._store.query(schema.ENTRIES + " WHERE seq > ? ORDER BY seq", (self._seq,))
                    # Readers may be walking through the old mapping, so a new one takes its place.
                    self._releases = dict(self._releases)
                    for row in rows:
                        self._fold(Entry.read(row[4]))
            except Exception:
                self._drop()
                raise
            self._looked = time.monotonic()
            return self._releases

    def recent(self, seconds: float) -> Mapping[str, ReleaseView] | None:
        """Releases as of a moment ago, without waiting for anything; None if the last look is older."""
        return self._releases if time.monotonic() - self._looked < seconds else None

    def _drop(self) -> None:
        store, self._store = self._store, None
        with suppress(Exception):
            store.close()

    def by_key(self, key: str) -> ReleaseView | None:
        return self.refreshed().get(self._keys.get(key, ""))

    def by_request(self, digest: str) -> list[ReleaseView]:
        """Releases of one canonical request, under whatever rules and law, the oldest first."""
        releases = self.refreshed()
        return [releases[entry] for entry in self._requests.get(digest, ()) if entry in releases]

    def _fold(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind == "charge":
            self._charged[entry.name] = _view(entry)
            self._keys[body["key"]] = entry.name
            self._requests.setdefault(digest(body["request"]), []).append(entry.name)
        elif entry.kind in ("release", "status"):
            name, status = body["entry"], str(body["status" if entry.kind == "release" else "to"])
            if status == Status.PUBLISHED:
                self.were_public.add(name)
            self._releases[name] = replace(self._charged[name], status=status)
        self._seq = entry.seq

    def close(self) -> None:
        with self._lock:
            self._drop()


def _cells(request: Mapping[str, Any]) -> int:
    axes = request.get("axes", [])
    return prod(len(a["cells"]) if "cells" in a else max(len(a.get("cuts", ())) - 1, 1) for a in axes)


def _view(entry: Entry) -> ReleaseView:
    body = entry.body
    request = body["request"]
    # A batch is one charge for several tables.
    tables = request.get("tables") or [request]
    names = tuple(str(axis.get("variable", "")) for axis in request.get("axes", []))
    measure = method_of(request)
    of = f" of {request['of']}" if request.get("of") else ""
    what = f"{measure}{of} by {', '.join(names)}" if names else f"{measure}{of}"
    return ReleaseView(
        entry=entry.name,
        dataset=str(body["dataset"]),
        version=str(body["version"]),
        population=entry.population,
        title=f"batch of {len(tables)} tables" if len(tables) > 1 else what,
        measure=measure,
        variables=names,
        cells=sum(map(_cells, tables)),
        definition=str(body["definition"]),
        budget=dict(body["budget"]),
        cost=dict(body["cost"]),
        status="",
        at=entry.at,
        analyst=str(body["analyst"]),
        request=request,
    )


Stage = Callable[[str], None]
Document = Mapping[str, Any] | str | RequestDocument | BatchDocument
# Pricing a batch tries several amounts for every table; a free preview is bounded as a whole.
_BATCH_ATOMS = 5 * ATOMS


@dataclass(frozen=True)
class Served:
    entry: DatasetEntry
    curator: Curator

    @property
    def name(self) -> str:
        return self.curator.domain.name


@dataclass(frozen=True)
class Quote:
    """A priced request: the plan, its memo key, and the charge that a release would make."""

    plan: TablePlan
    cells: int
    charge: Charge


class RequestService:
    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self._lock = threading.RLock()
        self.ledger = Ledger.open(
            config.ledger_location,
            anchor=config.path(config.anchor) if config.anchor else None,
            keys=config.path(config.keys) if config.keys else None,
            lease_seconds=config.lease_seconds,
            wait_seconds=15.0,
        )
        self.catalogue = Catalogue(config.ledger_location)
        # By data set: two of one population may be served under different policies.
        self._quotas: set[tuple[str, str]] = set()
        self._registered: set[str] = set()
        self.served: dict[str, Served] = {}
        for entry in config.datasets:
            document = load_dataset(config.path(entry.document))
            check_ledger(document, config.ledger_location)
            # Without a policy of the configuration, the dataset document and the ledger say which one holds.
            name = entry.policy or config.policy
            policy = load_policy(config.path(name)) if name else None
            curator = Curator.open(document, ledger=self.ledger, policy=policy)
            # A process that serves for weeks reads its files once itself.
            curator.holding.trusts_earlier = False
            for notice in curator.notices:
                logs.event("policy", 30, dataset=curator.domain.name, notice=notice)
            if curator.domain.name in self.served:
                raise errors.Conflict(f"Two data sets are named {curator.domain.name!r}.", received=curator.domain.name)
            self.served[curator.domain.name] = Served(entry, curator)

    def find(self, name: str) -> Served:
        try:
            return self.served[name]
        except KeyError:
            raise NotFound(f"There is no data set named {name[:100]!r}.", known=sorted(self.served)) from None

    def populations(self) -> tuple[str, ...]:
        return tuple(sorted({served.curator.domain.population for served in self.served.values()}))

    def read_request(self, dataset: str, document: Document) -> RequestDocument:
        """One table of a data set, refused as `read_asked` refuses."""
        return load_request(self.read_asked(dataset, document))

    def read_asked(self, dataset: str, document: Document) -> Asked:
        """One table or a batch, refused where it names what is not declared, or more cells than are served."""
        return self.read_priced(dataset, document)[0]

    def read_priced(self, dataset: str, document: Document) -> tuple[Asked, tuple[str, ...]]:
        """The same, and what is to be said of the amount that an accuracy needs."""
        # Text is always a document here, never the name of a file: a line break settles that for the reader.
        served, text = self.find(dataset), f"{document}\n" if isinstance(document, str) else document
        planner = served.curator.planner
        # Finding an amount may take as much arithmetic as one preview.
        with planner.allowing(), bounded(ATOMS):
            asked, advice = planner.priced(load_asked(text))
        # Refused here, before anything is priced or charged, if a document lacks what [show] names.
        self.adjustments(served, asked)
        domain = served.curator.domain
        size = sum(prod(len(axis) for axis in member.axes(domain)) for member in members_of(asked))
        if size > self.config.limits.most_cells:
            raise errors.TooLarge(
                f"The table would have {size:,} cells; this server releases at most {self.config.limits.most_cells:,}.",
                received=size,
                limit=self.config.limits.most_cells,
            )
        return asked, advice

    def adjustments(self, served: Served, request: Asked) -> list[Adjustment]:
        """What [show] of a request asks for; what is stored stays as it was measured. A batch has none."""
        if isinstance(request, BatchDocument) or request.show.is_plain:
            return []
        curator = served.curator
        check_show(request.show, request.method, request.margins(curator.domain))
        rules.check_show(request.show, curator.policy)
        try:
            with outages():
                return curator.adjustments(request)
        except (errors.NotPublic, errors.UnknownName):
            # A release that is not public is answered like one that is not there.
            raise NotFound(f"There is no published release {request.show.anchor[:100]!r} to agree with.") from None

    def register_all(self, by: str, only: str = "", *, accept_unseen: bool = False) -> dict[str, Confidential]:
        """Register what is not registered yet (or one data set), one worker at a time; the report on each that was."""
        done = {}
        with (self.config.state_directory / "register.lock").open("w") as lock:
            # An account is opened once: two workers must not both find it missing.
            fcntl.flock(lock, fcntl.LOCK_EX)
            for name, served in self.served.items():
                if only in ("", name) and not self.is_registered(served):
                    done[name] = served.curator.register(by=by, accept_unseen=accept_unseen)
        return done

    def is_registered(self, served: Served) -> bool:
        """Whether this version of the data set is; that an earlier version on the same population is, says nothing."""
        domain = served.curator.domain
        with outages():
            return self.ledger.reader.registration(domain.name, domain.version) is not None

    def unregistered(self) -> list[str]:
        """Names of data sets that are served and cannot be planned or released yet; what was registered stays so."""
        for name, served in self.served.items():
            if name not in self._registered and self.is_registered(served):
                self._registered.add(name)
        return [name for name in self.served if name not in self._registered]

    def warm(self, stop: threading.Event) -> None:
        """Open the data and price one cell, so that the first caller need not wait for files and imports."""
        for served in self.served.values():
            if stop.is_set():
                return
            try:
                _ = served.curator.source
                amounts = {k: v for k, v in served.entry.defaults.model_dump().items() if v is not None}
                served.curator.plan({"table": {}, "privacy": amounts})
            except errors.DaleniusError:
                continue

    def quote(
        self, served: Served, document: Asked, analyst: str, approved_by: str = "", *, is_stored: bool = False
    ) -> Quote:
        """Plan and cost a request from documents alone; `is_stored` allows what was asked before a rule was made."""
        curator = served.curator
        with bounded(_BATCH_ATOMS) if isinstance(document, BatchDocument) else nullcontext():
            plan = curator.planner.plan_stored(document) if is_stored else curator.plan(document)
        form = form_of(document, curator.domain)
        with outages():
            registration = self.ledger.reader.registration(curator.domain.name, curator.domain.version)
        if registration is None:
            raise errors.NotRegistered(f"{served.name} is not registered yet; the custodian does that first.")
        who: dict[str, Any] = {"analyst": analyst, "approved_by": approved_by, "is_official": not analyst}
        charge = curator.charge(document, plan, form, registration.fingerprint, **who)
        cells = sum(member.space(curator.domain).size for member in members_of(document))
        return Quote(plan, cells, charge)

    def refusal(self, quote: Quote, *, as_new: bool) -> errors.DaleniusError | None:
        """The error that the ledger would answer with now, or nothing.

        `as_new` asks under a key that no charge has: the answer, and the work for it, are then the same whether or not
        somebody asked for the same before.
        """
        self.apply_quota(quote.charge.dataset, quote.charge.analyst)
        charge = quote.charge
        if as_new:
            charge = replace(charge, key=hashlib.sha256(f"preview {charge.key}".encode()).hexdigest())
        try:
            with outages():
                self.ledger.quote(charge)
        except Unavailable:
            raise
        except errors.DaleniusError as error:
            return error
        return None

    def stored(self, quote: Quote) -> ReleaseView | None:
        """The release under the request's own key, whatever its status."""
        return self.catalogue.by_key(quote.charge.key)

    def release(self, served: Served, document: Asked, *, analyst: str, approved_by: str, stage: Stage) -> str:
        """Charge, measure, store: the entry under which the release is stored."""
        self.apply_quota(served.name, analyst)
        status = Status(served.curator.policy.release)
        started = time.monotonic()

        def held(name: str) -> None:
            """Store on a tick only: a stored release can be seen, and its moment would tell how long it took."""
            if name == "storing":
                tick = self.config.tick
                time.sleep(tick - (time.monotonic() - started) % tick)
            stage(name)

        with outages():
            release = served.curator.release(
                document, analyst=analyst, approved_by=approved_by, is_official=not analyst, status=status, stage=held
            )
        return release.provenance.ledger_entry

    def apply_quota(self, dataset: str, analyst: str) -> None:
        """The policy's quota becomes the analyst's when they first ask; the custodian may change it later."""
        if (dataset, analyst) in self._quotas:
            return
        curator = self.find(dataset).curator
        population = curator.domain.population
        with outages(), self._lock:
            if population in self.ledger.reader.populations():
                ensure_quotas(
                    self.ledger,
                    population,
                    analyst,
                    curator.policy,
                    overlaps=self.ledger.reader.overlaps(population),
                    is_official=not analyst,
                )
                self._quotas.add((dataset, analyst))

    def approval_above(self, population: str) -> int | None:
        """The rho, in ledger units, above which a second person approves; None where nobody need."""
        with outages():
            lines = [e for e in self.ledger.reader.entries(population) if e.kind == "approval"]
        above = lines[-1].body["above"] if lines else None
        return None if above is None else int(above)

    def quota(self, dataset: str, analyst: str, account: str) -> QuotaView:
        """What an analyst may spend and has spent in an account; nothing about anybody else."""
        self.apply_quota(dataset, analyst)
        population = self.find(dataset).curator.domain.population
        with outages():
            balances = self.ledger.reader.account(population).balances
        own = (balance.to_dict() for balance in balances if balance.key[1:] == (account, QUOTA, analyst))
        nothing: dict[str, Any] = {"spent": {"rho": "0", "delta": "0"}, "limit": None, "left": None, "charges": 0}
        costs = next(own, nothing)
        return QuotaView(
            analyst=analyst, population=population, account=account, **{name: costs[name] for name in nothing}
        )

    def close(self) -> None:
        self.catalogue.close()
        for served in self.served.values():
            served.curator.close()
        self.ledger.close()
