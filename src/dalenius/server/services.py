"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

`reading` is open to everybody, as far as a release is published; `releasing` plans and releases, for analyst and
custodian; `custody` is for custodian and auditor. The other fields are their parts, for auth.py and the routes.
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
