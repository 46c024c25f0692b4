"""The facade that library, command line and server share.

>>> from dalenius import Curator                                          # doctest: +SKIP
>>> curator = Curator.open("dataset.toml", ledger="ledger.sqlite")        # doctest: +SKIP
>>> curator.register(by="custodian")                                      # doctest: +SKIP
>>> curator.plan("request.toml").preview                                  # doctest: +SKIP
>>> release = curator.release("request.toml")                             # doctest: +SKIP
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from dalenius import version
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RandomSource, SystemRandomness
from dalenius.core.release import Provenance, Release, Status
from dalenius.curator import gate, properties, utility
from dalenius.curator.data_dependent import DataDependentPlan
from dalenius.curator.data_dependent_report import inspect_plan
from dalenius.curator.inspection import Confidential
from dalenius.curator.memo import memo_key, plan_digest
from dalenius.curator.opening import declare_unit, ensure_quota, open_account
from dalenius.curator.planner import Planner
from dalenius.engines.duckdb import DuckDBSource
from dalenius.errors import AfterCharge, DataChanged, DocumentError, NotAllowed, NotRegistered, Unsupported
from dalenius.ledger import Charge, Ledger, Reservation, StoredRelease
from dalenius.publish.to_json import from_json, to_json
from dalenius.spec import load
from dalenius.spec.canonical import Canonical, canonical, digest
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

Stage = Callable[[str], None]
RequestLike = str | Path | Mapping[str, Any] | RequestDocument


class Curator:
    """Plans for free, releases against the ledger, and shows the custodian what only the custodian may see."""

    def __init__(
        self,
        document: DatasetDocument,
        *,
        ledger: Ledger,
        policy: PolicyDocument,
        data: object = None,
        rng: RandomSource | None = None,
        owns_ledger: bool = False,
    ) -> None:
        self._owns_ledger = owns_ledger
        self.document = document
        self.domain: Domain = document.domain()
        self.policy = policy
        self.ledger = ledger
        self._data = data
        self._rng = rng or SystemRandomness()
        self._source: Source | None = None
        self._checked: tuple[int, ...] | None = None
        self.planner = Planner(domain=self.domain, policy=policy)
        if policy.population and policy.population != self.domain.population:
            raise NotAllowed(
                f"This policy is meant for the population {policy.population!r}, not for {self.domain.population!r}."
            )

    @classmethod
    def open(
        cls,
        dataset: str | Path | Mapping[str, Any] | DatasetDocument,
        *,
        ledger: str | Path | Ledger | None = None,
        policy: str | Path | Mapping[str, Any] | PolicyDocument | None = None,
        data: object = None,
        rng: RandomSource | None = None,
    ) -> "Curator":
        """Open a declared data set with its ledger.

        `data` gives the rows in-process (a data frame, an Arrow table, a mapping of columns) instead of the
        document's source. The ledger defaults to `dalenius.sqlite` beside the document.
        """
        document = load.load_dataset(dataset)
        base = document.base
        rules = load.load_policy(policy) if policy is not None else PolicyDocument()
        book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger or base / "dalenius.sqlite")
        owns = not isinstance(ledger, Ledger)
        return cls(document, ledger=book, policy=rules, data=data, rng=rng, owns_ledger=owns)

    def __enter__(self) -> "Curator":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the data, and of the ledger if it was opened here; a shared one stays open."""
        self._source = None
        if self._owns_ledger:
            self.ledger.close()

    # -- registration ------------------------------------------------------------------------------------------

    @property
    def source(self) -> Source:
        """The microdata, opened on first use."""
        if self._source is None:
            secret = self.ledger.secret(self.domain.population)
            self._source = DuckDBSource.open(self.document, secret=secret, data=self._data)
        return self._source

    @property
    def domain_digest(self) -> str:
        """Digest of what was declared; where the file lies is not part of it."""
        content = self.document.to_dict()
        place = ("source", "title")
        return digest(content | {"dataset": {k: v for k, v in content["dataset"].items() if k not in place}})

    def register(self, *, by: str = "custodian") -> Confidential:
        """Judge the content once, tie the file to its version, and open the population's account."""
        report = dict(self.source.judge())
        if report.get("rows_skipped"):
            raise DocumentError(
                "The file holds records that cannot be read as its format says, so that others may be misread with them;"
                " repair it before you register it."
            )
        declare_unit(self.ledger, self.domain, by)
        self.ledger.register(
            population=self.domain.population,
            dataset=self.domain.name,
            version=self.domain.version,
            fingerprint=self._fingerprint(),
            domain_digest=self.domain_digest,
            by=by,
        )
        open_account(self.ledger, self.domain, self.policy, by)
        return Confidential(f"Content of {self.domain.name} {self.domain.version}", report)

    def _fingerprint(self) -> str:
        return self.source.fingerprint(self.ledger.secret(self.domain.population))

    def _registered_fingerprint(self) -> str:
        """The fingerprint of the registered version; the file is hashed again whenever it may have changed."""
        registration = self.ledger.registration(self.domain.name, self.domain.version)
        if registration is None or registration.population != self.domain.population:
            raise NotRegistered(
                f"{self.domain.name} {self.domain.version} is not registered in this ledger; run"
                " `dalenius register` first.",
                dataset=self.domain.name,
                version=self.domain.version,
            )
        if registration.domain_digest != self.domain_digest:
            raise DataChanged(
                "The declaration changed after it was registered; give it a new version and register that."
            )
        stamp = self._stamp()
        if self._checked is None or stamp is None or self._checked != stamp:
            if self._fingerprint() != registration.fingerprint:
                raise DataChanged(
                    "The file is not the one that was registered; give it a new version and register that."
                )
            self._checked = stamp
        return registration.fingerprint

    def _is_unchanged(self, fingerprint: str) -> bool:
        """Whether what was read is what was registered: by the file's stamp, or by hashing again without one."""
        if self._checked is not None:
            return self._stamp() == self._checked
        return self._fingerprint() == fingerprint

    def _stamp(self) -> tuple[int, ...] | None:
        """Place, size and time of the one file behind the data; None where there is no such file to watch."""
        if self._data is not None:
            return None
        try:
            stat = (self.document.base / self.document.dataset.source).stat()
        except OSError:
            return None
        return (stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns)

    # -- requests ----------------------------------------------------------------------------------------------

    def request(self, request: RequestLike) -> RequestDocument:
        """Read a request document."""
        return request if isinstance(request, RequestDocument) else load.load_request(request)

    def plan(self, request: RequestLike) -> TablePlan:
        """Cells, cost, law and expected error: free, and without touching data."""
        return self.planner.plan(self.request(request))

    def release(
        self,
        request: RequestLike,
        *,
        analyst: str = "",
        approved_by: str = "",
        is_official: bool = False,
        status: Status | None = None,
        stage: Stage = lambda _: None,
    ) -> Release:
        """Charge, measure, store; answer what is read back. An identical request is free for ever.

        An official table is the custodian's own: it is paid from the share kept back for official tables and from no
        analyst's quota. `status` is the policy's unless given.
        """
        document = self.request(request)
        stage("planning")
        plan = self.planner.plan(document)
        form = canonical(document, self.domain)
        fingerprint = self._registered_fingerprint()
        stage("charging the ledger")
        if not is_official:
            ensure_quota(self.ledger, self.domain.population, analyst, self.policy)
        reservation = self.ledger.reserve(
            self.charge(
                document,
                plan,
                form,
                fingerprint,
                analyst=analyst,
                approved_by=approved_by,
                is_official=is_official,
            )
        )
        stored = reservation.stored
        if stored is None:
            first = Status(status or self.policy.release)
            stored = self._complete(plan, replace(reservation, fingerprint=fingerprint), form, first, stage)
        return self._read(stored)

    def charge(
        self,
        document: RequestDocument,
        plan: TablePlan,
        form: Canonical,
        fingerprint: str,
        *,
        analyst: str = "",
        approved_by: str = "",
        is_official: bool = False,
    ) -> Charge:
        """What the ledger is asked to pay; known from documents and the registration alone."""
        fixed = plan_digest(plan, self.policy)
        return Charge(
            population=self.domain.population,
            relation=self.domain.neighbours.relation,
            dataset=self.domain.name,
            version=self.domain.version,
            key=memo_key(form.digest, self.domain_digest, fingerprint, fixed),
            request=form.content,
            definition=plan.definition,
            budget=plan.budget.to_dict(),
            cost=plan.reservation,
            page=getattr(plan, "page", "master"),
            analyst=analyst,
            variables=self._sensitive(document),
            plan_digest=fixed,
            fingerprint=fingerprint,
            is_tainted=self._rng.is_tainted,
            is_public_data=self.domain.is_public,
            approved_by=approved_by,
            is_official=is_official,
        )

    def _complete(
        self, plan: TablePlan, reservation: Reservation, form: Canonical, status: Status, stage: Stage
    ) -> StoredRelease:
        """Measure and store; an answer that could not be stored leaves no trace, not even in a traceback."""
        try:
            document = to_json(self._measure(plan, reservation, form, stage).with_(status=status))
            stage("storing")
            return self.ledger.commit(reservation, document, status=str(status))
        except Exception:
            # The exception's frames hold an answer that nobody may read; it is dropped with them.
            document = b""
        # Nothing left the process, so whoever asks again may complete the charge.
        with suppress(Exception):
            self.ledger.abandon(reservation)
        raise AfterCharge(reservation.entry)

    def _measure(
        self,
        plan: TablePlan,
        reservation: Reservation,
        form: Canonical,
        stage: Stage,
    ) -> Release:
        neighbours: Neighbours = getattr(plan, "neighbours", self.domain.neighbours)
        passage = gate.run(
            plan,
            self.source,
            neighbours,
            plan.reservation,
            self._rng,
            entry=reservation.entry,
            stage=stage,
        )
        if not self._is_unchanged(reservation.fingerprint):
            # The file moved under the measurement: what was read is not what was registered.
            raise AfterCharge(reservation.entry)
        definition = self.planner.definition(plan.budget)
        provenance = Provenance(
            dataset=self.domain.name,
            population=self.domain.population,
            version=self.domain.version,
            definition=plan.definition,
            budget=plan.budget.to_dict(),
            neighbours=neighbours.to_dict(),
            cost=plan.reservation.to_dict(),
            mechanism=plan.mechanism,
            strategy=plan.strategy,
            evidence=plan.evidence.to_dict(),
            software=f"dalenius {version.VERSION}",
            request=form.content,
            digest=form.digest,
            ledger_entry=reservation.entry,
            ledger_head=reservation.head,
            guarantee=f"{definition.sentence(plan.budget)} {neighbours.sentence()}",
            warnings=plan.warnings,
            is_tainted=self._rng.is_tainted,
        )
        tables = plan.assemble(passage.blocks) if not passage.silent else ()
        release = Release(blocks=passage.blocks, tables=tables, law=plan.law, provenance=provenance)
        return properties.apply(self.policy.table, release)

    def _sensitive(self, document: RequestDocument) -> tuple[str, ...]:
        """Variables of the request that carry a cap of their own."""
        used = {axis.variable for axis in document.axes(self.domain)} | set(document.table.where)
        used |= {name for name in (document.table.of, document.table.weight) if name}
        return tuple(sorted(name for name in used if self.domain.variable(name).is_sensitive))

    def _read(self, stored: StoredRelease) -> Release:
        return replace(from_json(stored.document), status=Status(stored.status))

    # -- the custodian's door ----------------------------------------------------------------------------------

    def inspect(self, request: RequestLike, *, by: str = "custodian") -> Confidential:
        """The exact table, for the custodian's eyes; a ledger line says that somebody looked."""
        document = self.request(request)
        form = canonical(document, self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        self._registered_fingerprint()
        self.ledger.note("inspection", {"population": self.domain.population, "request": form.content}, by=by)
        exact = self.source.table(query).open_below_the_gate()
        cells = query.space.labels() or [()]
        table = {
            " · ".join(labels) or "total": int(v) for labels, v in zip(cells, exact.tolist(), strict=True)
        }
        return Confidential(f"Exact counts of {self.domain.name} {self.domain.version}", table)

    def inspect_plan(
        self, request: RequestLike, *, record: int | None = None, by: str = "custodian"
    ) -> Confidential:
        """What a data-dependent plan would do to these data: scales, expected losses, claims, the true loss.

        For the custodian's eyes. Choosing an option after such a look is outside every guarantee.
        """
        plan = self.plan(request)
        if not isinstance(plan, DataDependentPlan):
            raise Unsupported(
                "Only plans whose noise depends on the data have more to show than their preview."
            )
        self._registered_fingerprint()
        note = {"population": self.domain.population, "plan": plan_digest(plan, self.policy)}
        self.ledger.note("inspection", note, by=by)
        report = inspect_plan(plan, self.source, record)
        return Confidential(f"What {plan.definition} would do to {self.domain.name}", report)

    def compare(self, request: RequestLike, release: Release, *, by: str = "custodian") -> Confidential:
        """How far a release is from the exact counts, in the losses of the literature; for the custodian's eyes."""
        form = canonical(self.request(request), self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        self._registered_fingerprint()
        note = {"population": self.domain.population, "request": form.content, "what": "utility"}
        self.ledger.note("inspection", note, by=by)
        exact = self.source.table(query).open_below_the_gate().reshape(query.space.shape)
        shown = release.find(*(axis.name for axis in query.space.axes)).values.reshape(query.space.shape)
        return Confidential(
            f"Utility of release {release.provenance.digest[:12]}", utility.compare(exact, shown)
        )
