"""The facade that library, command line and server share."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius import errors, version
from dalenius.core.budget import MASTER, Cost
from dalenius.core.contracts import Adjustment, Source
from dalenius.core.domain import Domain
from dalenius.core.plan import BatchPlan, TablePlan
from dalenius.core.randomness import RandomSource, SystemRandomness
from dalenius.core.registry import Extension, view
from dalenius.core.release import Block, Provenance, Release, Status, Subject
from dalenius.core.sealed import Confidential
from dalenius.curator import gate, rules
from dalenius.curator.memo import memo_key, plan_digest
from dalenius.curator.planner import Planner
from dalenius.curator.source import RegisteredSource
from dalenius.curator.verbs import MeasureVerbs
from dalenius.ledger import Charge, Ledger, Reservation, StoredRelease
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.draft import Command
from dalenius.ledger.events import Event, events_in
from dalenius.ledger.policy import bind, check_ledger, ensure_quotas
from dalenius.ledger.reserve import new_lease
from dalenius.ledger.stopping import stopped
from dalenius.measurements.blocks.function import OwnFunction
from dalenius.postprocess import adds_up, adjustments, declared_totals, shown, within
from dalenius.publish import as_read, from_json, write_json
from dalenius.rendering import two_lines
from dalenius.spec import batch, load
from dalenius.spec.canonical import Canonical, digest
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.declaration import Declaration
from dalenius.spec.guarantees import guarantee_of
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

RequestLike = str | Path | Mapping[str, Any] | RequestDocument
AskedLike = RequestLike | batch.BatchDocument
if TYPE_CHECKING:
    from dalenius.curator.inspection import Inspection

DatasetLike = str | Path | Mapping[str, Any] | DatasetDocument | Declaration
PolicyLike = str | Path | Mapping[str, Any] | PolicyDocument
Stage = Callable[[str], None]


class Curator(MeasureVerbs):
    """Plans for free, releases against the ledger, and shows the custodian what only the custodian may see.

    It holds three nouns: the `holding` (file, registration and account), the `planner`, and the custodian's
    `inspection`.
    """

    policy: PolicyDocument

    def __init__(
        self,
        document: DatasetDocument,
        *,
        ledger: Ledger,
        policy: PolicyDocument | None,
        data: object = None,
        rng: RandomSource | None = None,
        owns_ledger: bool = False,
    ) -> None:
        self.holding: RegisteredSource = RegisteredSource(document, ledger=ledger, policy=policy, data=data)
        self.document, self.policy, self.ledger = document, self.holding.policy, ledger
        self.domain: Domain = self.holding.domain
        self._functions: dict[str, OwnFunction] = {}
        self.planner: Planner = Planner(domain=self.domain, policy=self.policy, functions=self._functions)
        self._owns_ledger = owns_ledger
        self._rng = rng or SystemRandomness()

    @cached_property
    def inspection(self) -> "Inspection":
        """The custodian's look at exact values; who only releases does not load it."""
        from dalenius.curator.inspection import Inspection

        return Inspection(holding=self.holding, planner=self.planner)

    @classmethod
    def open(
        cls,
        dataset: object,
        declaration: DatasetLike | None = None,
        *,
        ledger: str | Path | Ledger | None = None,
        anchor: str | Path | None = None,
        policy: PolicyLike | None = None,
        data: object = None,
        rng: RandomSource | None = None,
    ) -> "Curator":
        """Open a declared data set with its ledger: `open("dataset.toml")`, or `open(frame, "dataset.toml")`.

        What `dalenius.describe` returned is a declaration too, and brings its rows.

        With a `declaration` the first argument holds the rows (a pandas, polars or Arrow table, a mapping of columns),
        which are read instead of the document's source, as `data` also does. Ledger and policy are those that the
        document names; without a name the ledger is `dalenius.sqlite` beside the document, and its anchor lies beside
        it unless `anchor` says where. Where the ledger recorded a policy for the data set, that one is in force, and
        other rules are refused.
        """
        if declaration is not None and data is not None:
            raise errors.ParameterError("The rows were given twice: before the declaration, and as `data`.")
        if declaration is not None:
            dataset, data = declaration, dataset
        if isinstance(dataset, Declaration):
            held = dataset.microdata
            data = held.rows if data is None and held is not None and (held.is_converted or not held.place) else data
            dataset = dataset.document()
        if not isinstance(dataset, str | Path | Mapping | DatasetDocument):
            raise errors.ParameterError(
                "Rows need a declaration of what they may hold: Curator.open(frame, declaration); received"
                f" {type(dataset).__name__} alone."
            )
        document = load.load_dataset(dataset)
        named = document.policy_location if policy is None else policy
        limits = None if named is None else load.load_policy(named)
        if isinstance(ledger, Ledger):
            return cls(document, ledger=ledger, policy=limits, data=data, rng=rng)
        check_ledger(document, ledger)
        book = Ledger.open(ledger or document.ledger_location, anchor=anchor)
        try:
            return cls(document, ledger=book, policy=limits, data=data, rng=rng, owns_ledger=True)
        except BaseException:
            book.close()
            raise

    def __repr__(self) -> str:
        names = list(self.domain.variables)
        more = f", … ({len(names)} variables)" if len(names) > 6 else ""
        return two_lines(
            f"Curator of {self.domain.name} {self.domain.version}, population {self.domain.population}",
            f"{', '.join(names[:6])}{more}",
        )

    def _repr_html_(self) -> str:
        try:
            left = f"Left of the budget: {self.left}."
        except errors.DaleniusError:
            left = "Not registered yet: curator.register()."
        return str(view("domain", self.domain).html(left))

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the data, and of the ledger if it was opened here; a shared one stays open."""
        self.holding.close()
        if self._owns_ledger:
            self.ledger.close()

    @property
    def source(self) -> Source:
        """The microdata behind their engine, opened on first use; exact values are sealed."""
        return self.holding.source

    def asked(self, request: AskedLike) -> batch.Asked:
        """The request as a document, with what it leaves out."""
        with self.planner.allowing():
            return self.planner.completed(load.load_asked(request))

    @property
    def left(self) -> Cost:
        """What the population may still spend on its master account."""
        return self.ledger.reader.account(self.domain.population).left

    @property
    def notices(self) -> tuple[str, ...]:
        """Amounts of the given policy that the ledger does not have, with the command that changes them."""
        return self.holding.notices

    def register(self, *, by: str = "custodian", accept_unseen: bool = False) -> Confidential:
        """Judge the content once, tie the file to its version, and open the population's account.

        Where most values of a variable are not declared, the custodian consents by `accept_unseen` or it is refused.
        """
        return self.holding.register(by=by, accept_unseen=accept_unseen)

    def function(self, function: Callable[..., Any]) -> str:
        """Give this process a function of blocks of records; what it is called in a request is returned.

        The text of the function is run, in processes that know one block and nothing else; the ledger keeps its digest.
        """
        own = OwnFunction.of(function)
        self._functions[own.digest] = own
        return own.digest

    def plan(self, request: AskedLike) -> TablePlan:
        """Cells, cost, law and expected error: free, and without touching data."""
        with self.planner.allowing():
            document = load.load_asked(request)
        subject = batch.about(document, self.domain, self.document.dataset.title)
        return replace(self.planner.plan(document, self.adjustments(document)), subject=subject)

    def release(
        self,
        request: AskedLike,
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
        document = self.asked(request)
        stage("planning")
        who: dict[str, Any] = {"analyst": analyst, "approved_by": approved_by, "is_official": is_official}
        plan, form = self.planner.plan_stored(document), batch.form_of(document, self.domain)
        charge = self.charge(document, plan, form, self.holding.registration().fingerprint, **who)
        # What was published of this version is answered for ever, whatever became of the file.
        published = self.ledger.reader.find(charge.key)
        adjust = self.adjustments(document)
        rules.rehearse(plan, form, self.domain, self.policy, adjust)
        if published is not None:
            return shown(self._read(published, document), adjust)
        self.planner.check_functions(plan)
        self.holding.registered_fingerprint()
        stage("charging the ledger")
        bind(self.ledger, self.domain, self.policy, analyst or "custodian")
        self._ensure_quotas(charge)
        first, lease = Status(status or self.policy.release), new_lease()
        try:
            reservation = self.ledger.reserve(charge, lease)
            if reservation.stored is not None:
                return shown(self._read(reservation.stored, document), adjust)
            bound = replace(reservation, fingerprint=charge.fingerprint)
            return shown(self._complete(plan, bound, form, document, first, stage), adjust)
        except Exception:
            raise
        except BaseException as error:
            # Whoever stops the process must not leave a lease behind that others wait for.
            stop = stopped(error, self.ledger, charge, lease)
        raise stop

    def quote(self, request: AskedLike, *, analyst: str = "", is_official: bool = False) -> Cost:
        """What a release would be charged now, zero where a stored one answers; refuses as `release` would. Free."""
        document = self.asked(request)
        plan, form = self.planner.plan_stored(document), batch.form_of(document, self.domain)
        who: dict[str, Any] = {"analyst": analyst, "is_official": is_official}
        charge = self.charge(document, plan, form, self.holding.registration().fingerprint, **who)
        rules.rehearse(plan, form, self.domain, self.policy, self.adjustments(document))
        quotas: list[Command] = []
        if self.ledger.reader.find(charge.key) is None:
            self.planner.check_functions(plan)
            self._ensure_quotas(charge, Declarations(quotas.append))
        return self.ledger.quote(charge, quotas)

    def _ensure_quotas(self, charge: Charge, declarations: Declarations | None = None) -> None:
        who: dict[str, Any] = {"overlaps": charge.overlaps, "is_official": charge.is_official}
        population = self.domain.population
        ensure_quotas(self.ledger, population, charge.analyst, self.policy, **who, declarations=declarations)

    def charge(
        self,
        document: batch.Asked,
        plan: TablePlan,
        form: Canonical,
        fingerprint: str,
        *,
        analyst: str = "",
        approved_by: str = "",
        is_official: bool = False,
    ) -> Charge:
        """What the ledger is asked to pay; known from documents and the registration alone."""
        # Populations whose accounts pay as well; one that the document names and the ledger does not is refused.
        overlaps, fixed = self.ledger.reader.overlaps(self.domain.population), plan_digest(plan, self.policy)
        for other in self.domain.overlaps:
            if other not in overlaps:
                raise errors.NotRegistered(
                    f"That {self.domain.population!r} shares persons with {other!r} is not declared in this ledger; "
                    "register the data set again.",
                    dataset=self.domain.name,
                    version=self.domain.version,
                )
        # Variables and records that the request reads and that carry a cap, here or where others pay.
        capped = {name for other in overlaps for name in self.ledger.reader.account(other).capped}
        sensitive = self.domain.sensitive(document.variables(self.domain), capped | self.policy.sensitive.keys())
        asked = form.decided(plan.mechanism, plan.strategy)
        return Charge(
            population=self.domain.population,
            relation=plan.neighbours.relation,
            dataset=self.domain.name,
            version=self.domain.version,
            key=memo_key(asked, self.holding.domain_digest, fingerprint, fixed),
            request=form.content,
            definition=plan.definition,
            budget=plan.budget.to_dict(),
            cost=plan.reservation,
            account=plan.account,
            analyst=analyst,
            variables=sensitive,
            events=_events(plan),
            plan_digest=fixed,
            fingerprint=fingerprint,
            is_tainted=self._rng.is_tainted,
            is_public_data=self.domain.is_public,
            approved_by=approved_by,
            is_official=is_official,
            overlaps=overlaps,
        )

    def _complete(
        self, plan: TablePlan, held: Reservation, form: Canonical, document: batch.Asked, status: Status, stage: Stage
    ) -> Release:
        """Measure and store; an answer that could not be stored leaves no trace, not even in a traceback.

        What is answered is what is read back. Where that is the very document just written it need not be parsed.
        """
        refused: errors.DaleniusError = errors.AfterCharge(held.entry)
        try:
            measured = self._measure(plan, held, form, document, stage)
            about = (document, self.domain, self.document.dataset.title)
            release = batch.as_asked(measured.with_(status=status, subject=Subject()), *about)
            content = write_json(release)
            stage("storing")
            stored = self.ledger.commit(held, content, status=str(status))
            if stored.document != content:
                return self._read(stored, document)
            return batch.as_asked(replace(as_read(release), status=Status(stored.status)), *about)
        except (errors.LedgerCorrupt, errors.StorageError) as error:
            # A ledger or a disk that fails says nothing of the data.
            refused = type(error)(f"{error.message} {refused.message}", entry=held.entry)
            measured, release, content = None, None, b""
        except Exception:
            # The exception's frames hold an answer that nobody may read; it is dropped with them.
            measured, release, content = None, None, b""
        # Nothing left the process, so whoever asks again may complete the charge.
        with suppress(Exception):
            self.ledger.abandon(held)
        raise refused

    def _measure(
        self, plan: TablePlan, reservation: Reservation, form: Canonical, document: batch.Asked, stage: Stage
    ) -> Release:
        plan = gate.with_keys(plan, reservation.fingerprint, self.ledger.secret(self.domain.population))
        if self._functions:
            plan = gate.with_functions(plan, self._functions, stage)
        source, entry = self.holding.source, reservation.entry
        passage = gate.run(plan, source, plan.neighbours, plan.reservation, self._rng, entry=entry, stage=stage)
        if not self.holding.is_unchanged(reservation.fingerprint):
            # The file moved under the measurement: what was read is not what was registered.
            raise errors.AfterCharge(entry)
        if self.holding.extensions:
            # Nobody but its makers says that an engine of another distribution reads what was registered.
            plan = _read_by(plan, self.holding.extensions)
        provenance = self._provenance(plan, reservation, form)
        if not isinstance(plan, BatchPlan) or not isinstance(document, batch.BatchDocument):
            return self._answer(plan, passage.by_step, provenance)
        members, steps = [], list(passage.by_step)
        requests = batch.member_requests(document, self.domain)
        contents = [requests[place] for place in batch.places_of(document, self.domain)]
        for part, content in zip(plan.parts, contents, strict=True):
            own, steps = steps[: len(part.measurements)], steps[len(part.measurements) :]
            of_member = replace(
                provenance,
                request=content,
                digest=digest(content),
                mechanism=part.mechanism,
                strategy=part.strategy,
                evidence=part.evidence.to_dict(),
                warnings=part.warnings,
                extensions=tuple(extension.to_dict() for extension in part.extensions),
            )
            members.append(self._answer(part, own, of_member))
        return Release.batch(members, provenance=provenance, status=Status.DRAFT, subject=None)

    def _answer(self, plan: TablePlan, steps: Sequence[Block | None], provenance: Provenance) -> Release:
        """What one plan's steps gave, as the policy shows it; no table where a step was silent."""
        blocks = tuple(block for block in steps if block is not None)
        tables = plan.assemble(blocks) if len(blocks) == len(steps) else ()
        noted = plan.noted(blocks) if tables else ()
        provenance = replace(provenance, warnings=(*noted, *provenance.warnings))
        release = Release(blocks=blocks, tables=tables, law=plan.law, provenance=provenance)
        ruled = rules.apply(self.policy.table, within(plan.limits, release))
        return shown(ruled, adjustments(self.policy.show)) if adds_up(ruled) else ruled

    def _provenance(self, plan: TablePlan, reservation: Reservation, form: Canonical) -> Provenance:
        with self.planner.allowing():
            words = guarantee_of(plan)
        software = f"dalenius {version.VERSION}"
        return replace(
            plan.provenance(self.domain, request=form.content, digest=form.digest, software=software),
            ledger_entry=reservation.entry,
            ledger_head=reservation.head,
            guarantee=words.plain,
            formal_guarantee=words.formal,
            is_tainted=self._rng.is_tainted,
        )

    def adjustments(self, document: batch.Asked) -> list[Adjustment]:
        """What [show] of the request asks for: refused before anything is charged where a document lacks it."""
        if isinstance(document, batch.BatchDocument):
            return []
        show, published, anchor = document.show, None, None
        if show.published:
            axes, has_conditions = document.axes(self.domain), bool(document.table.where)
            published = declared_totals(self.document.published, self.domain, axes, has_conditions=has_conditions)
        if show.anchor:
            stored = self.ledger.reader.release(show.anchor)
            if stored.status != Status.PUBLISHED:
                raise errors.NotPublic("Only what is published can be agreed with.", entry=show.anchor)
            anchor = from_json(stored.document)
        return adjustments(show, published, anchor)

    def _read(self, stored: StoredRelease, document: batch.Asked) -> Release:
        """The stored answer, titled and laid out as this request asks."""
        release = replace(from_json(stored.document), status=Status(stored.status))
        return batch.as_asked(release, document, self.domain, self.document.dataset.title)


def _read_by(plan: TablePlan, engine: tuple[Extension, ...]) -> TablePlan:
    """Return the plan, and the parts of a batch, with the engine of another distribution."""
    plan = rules.made_with(plan, engine, is_unvetted=True)
    if not isinstance(plan, BatchPlan):
        return plan
    return replace(plan, parts=tuple(_read_by(part, engine) for part in plan.parts))


def _events(plan: TablePlan) -> tuple[Event, ...]:
    """What the ledger line says was done, where the steps do not depend on earlier answers or on the data."""
    if plan.account != MASTER or type(plan).steps is not TablePlan.steps:
        return ()
    return events_in([measurement.profile(plan.neighbours) for measurement in plan.measurements])
