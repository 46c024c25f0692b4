"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

Services.open(config)
    config, key, store, accounts, limiter, metrics, desk, lists, jobs   parts, for auth.py and the routes
    reading, releasing, custody                                         what follows, by what it is for
    worker                                                              start(), close(), is_ready

  reading: data sets (everybody)
    datasets(user) -> tuple[DatasetView, ...] dataset(name) -> DatasetView
    NotFound
  releasing (analyst, custodian)
    preview(user, dataset, document) -> Preview                         free; no data are read submit(user, dataset,
    document, key="") -> JobView                  queued; `key` makes it idempotent await wait(user, job_id,
    seconds=None) -> JobView                   returns on a tick, when finished or after `seconds` job(user, job_id) ->
    JobView                                        own jobs; a custodian sees all jobs_of(user) -> tuple[JobView, ...]
  reading: released tables (everybody: published; owner and custodian: drafts and embargoed)
    releases(user, dataset="", query="", status="", offset=0, limit=50) -> tuple[int, tuple[ReleaseView, ...]]
    release_view(user, entry) -> ReleaseView                            NotFound; NotPublic if withdrawn
    release(user, entry) -> Release                                     the document as the library's own type
    download(user, entry, format) -> Download                           json, csv, html and every other publish/to_*.py
    anchored(user, entry) -> Release                                    tied to the first publication, which wins
    formats() -> Mapping[str, str]                                      name -> media type
  reading: lists (everybody)
    list_answer(user, dataset, document, explains) -> Release | None    from the stored list; free, never reads data
    list_view(dataset) -> ReleaseView | None                            the published list itself
    release_list(user, dataset) -> ReleaseView | None                   (custodian) release the list, once
    download_of(release, format) -> Download
  releasing: saved tables (signed in)
    saved(user) -> tuple[SavedTable, ...]; save(user, title, dataset, document); forget(user, title)
    quota(user, dataset) -> QuotaView                                   the user's own
  custody: money
    statement(user, population, everybody=False) -> Statement           own lines; everybody's: custodian, auditor
    populations(user) -> tuple[str, ...] ledger_lines(user, population, form) -> str                         export
    (custodian, auditor) verify(user) -> VerifyReport                                        (custodian, auditor)
  custody: the custodian
    account(user, population) -> Account                                (custodian, auditor) grant(user, population,
    rho, delta, note); set_quota(user, population, analyst, rho, delta) set_approval(user, population, above)
    approvals(user) -> tuple[JobView, ...]; approve(user, job_id); refuse(user, job_id, reason) set_status(user, entry,
    status) -> ReleaseView                      embargoed, published, withdrawn register(user, dataset,
    accept_unseen=False) -> Confidential | None the content, for the custodian's eyes; None if it was already
    create_user(user, name, role) -> str                                the one-time password users(user) -> tuple[User,
    ...]; reset_password(user, name) -> str; deactivate(user, name)
"""

from dataclasses import dataclass

from dalenius.server.accounts import Accounts
from dalenius.server.config import ServerConfig
from dalenius.server.custody import Custody
from dalenius.server.jobs import Queue
from dalenius.server.lists import Lists
from dalenius.server.metrics import Metrics
from dalenius.server.operations import RequestService
from dalenius.server.reading import Reading
from dalenius.server.releasing import Releasing
from dalenius.server.runners import Runners
from dalenius.server.security import RateLimiter
from dalenius.server.store import StateStore
from dalenius.server.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One for each worker process; safe to call from several threads."""

    config: ServerConfig
    key: bytes
    proxy_secret: str
    store: StateStore
    accounts: Accounts
    limiter: RateLimiter
    metrics: Metrics
    desk: RequestService
    lists: Lists
    jobs: Queue
    reading: Reading
    releasing: Releasing
    custody: Custody
    worker: Worker

    @classmethod
    def open(cls, config: ServerConfig) -> "Services":
        """Everything that a worker process needs, opened and not yet started."""
        key, proxy_secret = config.key(), config.proxy_secret() if config.proxy is not None else ""
        store = StateStore(config.store_location)
        accounts = Accounts(store, config.limits.session_hours)
        limiter, metrics = RateLimiter(config.workers), Metrics(config.state_directory)
        desk = RequestService(config)
        lists, jobs = Lists(desk), Queue(store, config.tick)
        reading = Reading(config=config, desk=desk, lists=lists)
        releasing = Releasing(
            config=config,
            key=key,
            store=store,
            accounts=accounts,
            limiter=limiter,
            desk=desk,
            lists=lists,
            jobs=jobs,
            reading=reading,
        )
        custody = Custody(store=store, accounts=accounts, desk=desk, jobs=jobs, reading=reading, releasing=releasing)
        runners = Runners(store, jobs, releasing.run_job, runners=config.runners, lease_seconds=config.lease_seconds)
        worker = Worker(config=config, store=store, metrics=metrics, desk=desk, lists=lists, runners=runners)
        return cls(
            config=config,
            key=key,
            proxy_secret=proxy_secret,
            store=store,
            accounts=accounts,
            limiter=limiter,
            metrics=metrics,
            desk=desk,
            lists=lists,
            jobs=jobs,
            reading=reading,
            releasing=releasing,
            custody=custody,
            worker=worker,
        )
