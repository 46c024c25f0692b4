"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

Services(config)
    config, key, store, accounts, limiter, metrics, desk, jobs          parts, for auth.py and the routes

  data sets (everybody)
    datasets(user) -> tuple[DatasetView, ...]
    dataset(name) -> DatasetView                                        NotFound
  planning and releasing (analyst, custodian)
    read_request(dataset, document) -> RequestDocument                  DocumentError, UnknownName, …
    preview(user, dataset, document) -> Preview                         free; no data are read
    submit(user, dataset, document, key="") -> JobView                  queued; `key` makes it idempotent
    await wait(user, job_id, seconds=None) -> JobView                   returns on a tick, when finished or after `seconds`
    job(user, job_id) -> JobView                                        own jobs; a custodian sees all
    jobs_of(user) -> tuple[JobView, ...]
  released tables (everybody: published; owner and custodian: drafts and embargoed)
    releases(user, dataset="", query="", status="", offset=0, limit=50) -> tuple[int, tuple[ReleaseView, ...]]
    release_view(user, entry) -> ReleaseView                            NotFound; NotPublic if withdrawn
    release(user, entry) -> Release                                     the document as the library's own type
    download(user, entry, format) -> Download                           json, csv, html and every other publish/to_*.py
    anchored(user, entry) -> Release                                    tied to the first publication, which wins
    formats() -> Mapping[str, str]                                      name -> media type
  lists (everybody)
    list_answer(user, dataset, document) -> Release | None              from the stored list; free, never reads data
    list_view(dataset) -> ReleaseView | None                            the published list itself
    release_list(user, dataset) -> ReleaseView | None                   (custodian) release the list, once
    download_of(release, format) -> Download
  saved tables (signed in)
    saved(user) -> tuple[SavedTable, ...]; save(user, title, dataset, document); forget(user, title)
  money
    quota(user, dataset) -> QuotaView                                   the user's own
    statement(user, population, everybody=False) -> Statement           own lines; everybody's: custodian, auditor
    populations(user) -> tuple[str, ...]
    ledger_lines(user, population=None) -> str                          export (custodian, auditor)
    verify(user) -> VerifyReport                                        (custodian, auditor)
  the custodian
    account(user, population) -> Account                                (custodian, auditor)
    grant(user, population, rho, delta, note); set_quota(user, population, analyst, rho, delta)
    set_approval(user, population, above)
    approvals(user) -> tuple[JobView, ...]; approve(user, job_id); refuse(user, job_id, reason)
    set_status(user, entry, status) -> ReleaseView                      embargoed, published, withdrawn
    register(user, dataset) -> None
    create_user(user, name, role) -> str                                the one-time password
    users(user) -> tuple[User, ...]; reset_password(user, name) -> str; deactivate(user, name)
"""

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from dalenius.core.release import Release, Status
from dalenius.errors import Conflict, NotAllowed, NotPublic, ParameterError, TooLarge
from dalenius.ledger.account import Account
from dalenius.ledger.statement import Statement
from dalenius.ledger.verify import VerifyReport
from dalenius.server import downloads, logs, presentation
from dalenius.server.accounts import Accounts, Role, User
from dalenius.server.auth import require
from dalenius.server.config import ServerConfig
from dalenius.server.errors import Forbidden, NotFound, places
from dalenius.server.jobs import Job, Jobs
from dalenius.server.lists import Lists
from dalenius.server.metrics import Metrics
from dalenius.server.operations import Desk
from dalenius.server.security import RateLimiter
from dalenius.server.store import Store
from dalenius.server.views import DatasetView, Download, JobView, Preview, QuotaView, ReleaseView, SavedTable
from dalenius.spec.load import load_request
from dalenius.spec.request import RequestDocument

_RELEASERS = (Role.ANALYST, Role.CUSTODIAN)
_READERS = (Role.CUSTODIAN, Role.AUDITOR)
_CACHED = 256
Document = Mapping[str, Any] | str | RequestDocument


class Services:
    """One for each worker process; safe to call from several threads."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.key = config.key()
        self.store = Store(config.store_location)
        self.accounts = Accounts(self.store, config.limits.session_hours)
        self.limiter = RateLimiter(config.workers)
        self.metrics = Metrics(config.state_directory)
        self.desk = Desk(config)
        self.lists = Lists(self.desk)
        self.jobs = Jobs(
            self.store,
            self._run,
            tick=config.tick,
            runners=config.runners,
            lease_seconds=config.lease_seconds,
        )
        self._cache: OrderedDict[str, Release] = OrderedDict()
        self._files: OrderedDict[tuple[str, str], Download] = OrderedDict()
        self._cache_lock = threading.Lock()
        self._closing = threading.Event()
        self.is_ready = not config.register_on_start

    def start(self) -> None:
        """Serve jobs, and open the data in the background so that the first release need not wait for it."""
        self.jobs.start()
        threading.Thread(target=self._warm, name="warm", daemon=True).start()
        threading.Thread(target=self._share_metrics, name="metrics", daemon=True).start()

    def _share_metrics(self) -> None:
        while not self._closing.wait(1.0):
            self.metrics.share()

    def _warm(self) -> None:
        try:
            if self.config.register_on_start:
                self.desk.register_all(by="server")
                for served in self.desk.served.values():
                    self.lists.release(served)
            self.is_ready = True
            self.desk.warm()
        except Exception as error:
            logs.event("warming failed", 40, kind=type(error).__name__, places=places(error))

    def close(self) -> None:
        """Finish what is under way, then let go of everything."""
        self._closing.set()
        self.jobs.stop()
        self.metrics.close()
        self.desk.close()
        self.store.close()

    # -- data sets ---------------------------------------------------------------------------------------------

    def datasets(self, user: User) -> tuple[DatasetView, ...]:
        """Every served data set."""
        return tuple(self.dataset(name) for name in self.desk.served)

    def dataset(self, name: str) -> DatasetView:
        """The declaration of one data set."""
        return presentation.dataset_view(self.desk.find(name), self.config.limits.most_cells)

    # -- planning and releasing --------------------------------------------------------------------------------

    def read_request(self, dataset: str, document: Document) -> RequestDocument:
        """A request on a data set, refused where it names what is not declared, or more cells than are served."""
        served = self.desk.find(dataset)
        # Text is always a document here, never the name of a file: a line break settles that for the reader.
        text = f"{document}\n" if isinstance(document, str) else document
        request = text if isinstance(text, RequestDocument) else load_request(text)
        size = 1
        for axis in request.axes(served.curator.domain):
            size *= len(axis)
        if size > self.config.limits.most_cells:
            raise TooLarge(
                f"The table would have {size:,} cells; this server releases at most {self.config.limits.most_cells:,}.",
                received=size,
                limit=self.config.limits.most_cells,
            )
        return request

    def preview(self, user: User, dataset: str, document: Document) -> Preview:
        """Cells, cost, expected error, quota, and whether it was released before."""
        require(user, *_RELEASERS)
        served = self.desk.find(dataset)
        quote = self.desk.quote(served, self.read_request(dataset, document), user.name)
        return presentation.preview(
            quote,
            quota=self.quota(user, dataset),
            already=self._shown(user, self.desk.already(quote)),
            from_list=self.lists.answer(served, quote.document) is not None,
            refusal=self.desk.refusal(quote),
            direct_cells=self.config.limits.direct_cells,
        )

    def submit(self, user: User, dataset: str, document: Document, key: str = "") -> JobView:
        """Queue a release. Everything that can be refused without data is refused here, before anything is queued."""
        require(user, *_RELEASERS)
        if len(key) > 200 or not key.isprintable():
            raise ParameterError("An idempotency key has at most 200 printable characters.")
        served = self.desk.find(dataset)
        request = self.read_request(dataset, document)
        if served.entry.mode == "list" and not user.is_custodian:
            raise NotAllowed(
                f"{served.name} is served from its stored list; tables that the list does not hold are not released.",
                dataset=served.name,
            )
        if self.lists.answer(served, request) is not None:
            raise Conflict(
                "The stored list holds this table: it is free, and there is one number for one fact."
            )
        self.limiter.take("release", user.name, self.config.limits.releases_per_minute)
        quote = self.desk.quote(served, request, user.name)
        job = self.jobs.submit(
            user.name,
            dataset,
            request.to_dict(),
            quote.cells,
            key,
            most=self.config.limits.waiting_per_user,
        )
        return self.job(user, job)

    def _run(self, job: Job, stage: Any) -> str:
        """What a runner does with a job."""
        served = self.desk.find(job.dataset)
        request = self.read_request(job.dataset, self._document(job))
        return self.desk.release(served, request, analyst=job.name, approved_by=job.approved_by, stage=stage)

    @staticmethod
    def _document(job: Job) -> RequestDocument:
        return load_request(job.request)

    async def wait(self, user: User, job_id: str, seconds: float | None = None) -> JobView:
        """The job when it is finished, or as it stands after `seconds`; looked at on ticks only."""
        loop = asyncio.get_running_loop()
        view = await loop.run_in_executor(None, self.job, user, job_id)
        until = time.time() + (self.config.limits.wait_seconds if seconds is None else seconds)
        while not view.is_finished and view.state != "awaiting approval" and time.time() < until:
            tick = self.jobs.next_tick(view.created, time.time())
            await asyncio.sleep(max(tick - time.time(), 0.0) + 0.001)
            view = await loop.run_in_executor(None, self.job, user, job_id)
        return view

    def job(self, user: User, job_id: str) -> JobView:
        """A job of one's own; a custodian sees everybody's."""
        require(user, *_RELEASERS)
        job = self.jobs.find(job_id)
        if job.name != user.name and not user.is_custodian:
            raise NotFound("There is no such job.")
        return job.view(time.time())

    def jobs_of(self, user: User) -> tuple[JobView, ...]:
        """The user's own jobs, newest first."""
        require(user, *_RELEASERS)
        return tuple(job.view(time.time()) for job in self.jobs.of(user.name))

    # -- released tables ---------------------------------------------------------------------------------------

    def releases(
        self,
        user: User,
        dataset: str = "",
        query: str = "",
        status: str = "",
        offset: int = 0,
        limit: int = 50,
    ) -> tuple[int, tuple[ReleaseView, ...]]:
        """How many there are and one page of them, newest first."""
        with self.desk.outages():
            every = self.desk.catalogue.refreshed().values()
        words = query.lower().split()
        found = [
            view
            for view in reversed(list(every))
            if self._may_list(user, view)
            and (not dataset or view.dataset == dataset)
            and (not status or view.status == status)
            and all(word in f"{view.title} {view.dataset}".lower() for word in words)
        ]
        page = found[max(offset, 0) : max(offset, 0) + min(max(limit, 1), 500)]
        return len(found), tuple(self._hidden(user, view) for view in page)

    def release_view(self, user: User, entry: str) -> ReleaseView:
        """One release, if this user may read it."""
        with self.desk.outages():
            view = self.desk.catalogue.refreshed().get(entry)
        shown = self._shown(user, view)
        if shown is None:
            raise NotFound("There is no such release.")
        if shown.status == Status.WITHDRAWN and not user.may_read_ledger:
            raise NotPublic("This release was withdrawn.", status="withdrawn", entry=entry)
        return shown

    def release(self, user: User, entry: str) -> Release:
        """The release document as the library's own type."""
        view = self.release_view(user, entry)
        with self._cache_lock:
            cached = self._cache.get(entry)
        if cached is None:
            with self.desk.outages():
                cached = downloads.read(self.desk.ledger.release(entry))
            with self._cache_lock:
                self._cache[entry] = cached
                while len(self._cache) > _CACHED:
                    self._cache.popitem(last=False)
        return cached.with_(status=Status(view.status))

    def download(self, user: User, entry: str, format: str) -> Download:
        """A release in one of the published formats."""
        view = self.release_view(user, entry)
        place = (entry, f"{format}/{view.status}")
        with self._cache_lock:
            known = self._files.get(place)
        if known is None:
            known = downloads.render(
                self.release(user, entry), format, is_public=view.status == Status.PUBLISHED
            )
            with self._cache_lock:
                self._files[place] = known
                while len(self._files) > _CACHED:
                    self._files.popitem(last=False)
        return known

    def anchored(self, user: User, entry: str) -> Release:
        """The release tied to the first publication on the same rows that shares a margin; measured values stay."""
        view = self.release_view(user, entry)
        release = self.release(user, entry)
        with self.desk.outages():
            every = tuple(self.desk.catalogue.refreshed().values())
        for earlier in every:
            if earlier.entry == entry:
                break
            if earlier.status != Status.PUBLISHED or not presentation.may_anchor(earlier, view):
                continue
            tied = presentation.tied(release, self.release(user, earlier.entry))
            if tied is not None:
                return tied
        return release

    def formats(self) -> Mapping[str, str]:
        """Names and media types of the formats."""
        return downloads.formats()

    def _may_list(self, user: User, view: ReleaseView) -> bool:
        if view.status == Status.PUBLISHED or user.may_read_ledger:
            return True
        return (
            view.status in (Status.DRAFT, Status.EMBARGOED) and bool(user.name) and view.analyst == user.name
        )

    def _shown(self, user: User, view: ReleaseView | None) -> ReleaseView | None:
        """The view, unless the user may not know of it. That something was withdrawn is public."""
        if view is None or not (self._may_list(user, view) or view.status == Status.WITHDRAWN):
            return None
        return self._hidden(user, view)

    def _hidden(self, user: User, view: ReleaseView) -> ReleaseView:
        return presentation.without_analyst(view) if not self._knows_analyst(user, view) else view

    @staticmethod
    def _knows_analyst(user: User, view: ReleaseView) -> bool:
        return user.may_read_ledger or (bool(user.name) and view.analyst == user.name)

    # -- lists -------------------------------------------------------------------------------------------------

    def list_answer(self, user: User, dataset: str, document: Document) -> Release | None:
        """A table from the stored list: free, consistent, open to everybody; None if the list does not hold it."""
        served = self.desk.find(dataset)
        return self.lists.answer(served, self.read_request(dataset, document))

    def list_view(self, dataset: str) -> ReleaseView | None:
        """The published list of a data set, without who asked for it."""
        view = self.lists.view(self.desk.find(dataset))
        return None if view is None else presentation.without_analyst(view)

    def release_list(self, user: User, dataset: str) -> ReleaseView | None:
        """Release the list of a data set; charged once."""
        require(user, Role.CUSTODIAN)
        served = self.desk.find(dataset)
        self.lists.release(served)
        return self.lists.view(served)

    def download_of(self, release: Release, format: str, *, is_public: bool = True) -> Download:
        """A release that is not stored by itself (an answer from a list, an anchored view) in one of the formats."""
        return downloads.render(release, format, is_public=is_public)

    # -- saved tables ------------------------------------------------------------------------------------------

    def saved(self, user: User) -> tuple[SavedTable, ...]:
        """The user's saved tables, newest first."""
        return presentation.saved_tables(self.store, self._named(user))

    def save(self, user: User, title: str, dataset: str, document: Document) -> None:
        """Keep a request under a title; the same title replaces it."""
        if not 0 < len(title) <= 200 or not title.isprintable():
            raise ParameterError("A title has 1 to 200 printable characters.")
        request = self.read_request(dataset, document)
        presentation.save_table(self.store, self._named(user), title, dataset, request)

    def forget(self, user: User, title: str) -> None:
        """Remove a saved table."""
        self.store.write("DELETE FROM saved WHERE name = ? AND title = ?", self._named(user), title)

    @staticmethod
    def _named(user: User) -> str:
        require(user, Role.ANALYST, Role.CUSTODIAN, Role.AUDITOR)
        return user.name

    # -- money -------------------------------------------------------------------------------------------------

    def quota(self, user: User, dataset: str) -> QuotaView:
        """The user's own quota on the population of a data set."""
        require(user, *_RELEASERS)
        self.desk.apply_quota(dataset, user.name)
        return self.desk.quota(self.desk.find(dataset).curator.domain.population, user.name)

    def statement(self, user: User, population: str, *, everybody: bool = False) -> Statement:
        """Movements and balances: one's own, or everybody's for custodian and auditor."""
        require(user, *(_READERS if everybody else (*_RELEASERS, Role.AUDITOR)))
        if population not in self._populations():
            raise NotFound("There is no such population here.")
        with self.desk.outages():
            return self.desk.ledger.statement(population, None if everybody else user.name)

    def _populations(self) -> tuple[str, ...]:
        return tuple(sorted({served.curator.domain.population for served in self.desk.served.values()}))

    def populations(self, user: User) -> tuple[str, ...]:
        """Populations of the served data sets."""
        self._named(user)
        return self._populations()

    def ledger_lines(self, user: User, population: str | None = None, form: str = "json") -> str:
        """Every line of the ledger."""
        require(user, *_READERS)
        with self.desk.outages():
            return self.desk.ledger.export(form, population)

    def verify(self, user: User) -> VerifyReport:
        """Recompute the chain, the totals and the digests of the stored releases."""
        require(user, *_READERS)
        with self.desk.outages():
            return self.desk.ledger.verify()

    # -- the custodian -----------------------------------------------------------------------------------------

    def account(self, user: User, population: str) -> Account:
        """The master account."""
        require(user, *_READERS)
        with self.desk.outages():
            return self.desk.ledger.account(population)

    def grant(self, user: User, population: str, rho: str, delta: str, note: str = "") -> None:
        """Add to a population's budget."""
        require(user, Role.CUSTODIAN)
        if population not in self._populations():
            raise NotFound("There is no such population here.")
        served = next(s for s in self.desk.served.values() if s.curator.domain.population == population)
        relation = served.curator.domain.neighbours.relation
        with self.desk.outages():
            self.desk.ledger.grant(population, relation, rho, delta, by=user.name, note=note[:200])

    def set_quota(self, user: User, population: str, analyst: str, rho: str, delta: str) -> None:
        """Set what an analyst may spend in all."""
        require(user, Role.CUSTODIAN)
        if self.accounts.find(analyst) is None:
            raise NotFound("There is no such user.")
        with self.desk.outages():
            self.desk.ledger.quota(population, analyst, rho, delta, by=user.name)

    def set_approval(self, user: User, population: str, above: str | None) -> None:
        """Ask for a second person above a rho; None asks no more."""
        require(user, Role.CUSTODIAN)
        with self.desk.outages():
            self.desk.ledger.approval(population, above, by=user.name)

    def approvals(self, user: User) -> tuple[JobView, ...]:
        """What awaits a second person."""
        require(user, Role.CUSTODIAN)
        return tuple(job.view(time.time()) for job in self.jobs.awaiting())

    def approve(self, user: User, job_id: str) -> None:
        """Let a large release go ahead; nobody approves their own."""
        require(user, Role.CUSTODIAN)
        if self.jobs.find(job_id).name == user.name:
            raise Forbidden("A second person must approve this; you asked for it yourself.")
        self.jobs.decide(job_id, user.name)

    def refuse(self, user: User, job_id: str, reason: str = "") -> None:
        """Refuse a large release; nothing was spent."""
        require(user, Role.CUSTODIAN)
        refusal = Forbidden(f"The custodian refused this release. {reason[:300]}".strip())
        self.jobs.decide(job_id, user.name, refusal)

    def set_status(self, user: User, entry: str, status: str) -> ReleaseView:
        """Publish, embargo or withdraw; the charge stands."""
        require(user, Role.CUSTODIAN)
        if entry not in self.desk.catalogue.refreshed():
            raise NotFound("There is no such release.")
        with self.desk.outages():
            self.desk.ledger.set_status(entry, status, by=user.name)
        return self.release_view(user, entry)

    def register(self, user: User, dataset: str) -> None:
        """Judge and register a data set; the report stays with the custodian's own tools."""
        require(user, Role.CUSTODIAN)
        self.desk.find(dataset)
        self.desk.register_all(by=user.name)

    def create_user(self, user: User, name: str, role: str) -> str:
        """A new user; the password is shown this once."""
        require(user, Role.CUSTODIAN)
        password = secrets.token_urlsafe(15)
        self.accounts.create(name, role, password)
        return password

    def users(self, user: User) -> tuple[User, ...]:
        """Everybody who may sign in."""
        require(user, Role.CUSTODIAN)
        return self.accounts.users()

    def reset_password(self, user: User, name: str) -> str:
        """A new one-time password; the user's sessions end."""
        require(user, Role.CUSTODIAN)
        if self.accounts.find(name) is None:
            raise NotFound("There is no such user.")
        password = secrets.token_urlsafe(15)
        self.accounts.set_password(name, password)
        return password

    def deactivate(self, user: User, name: str) -> None:
        """Sign a user out for good; nobody does that to themselves."""
        require(user, Role.CUSTODIAN)
        if name == user.name:
            raise Conflict("You cannot deactivate yourself.")
        self.accounts.deactivate(name)
