"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

`reading` is open to everybody, as far as a release is published; `releasing` plans and releases, for analyst and
custodian; `custody` is for custodian and auditor. The other fields are their parts, for auth.py and the routes.
"""

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


class Services:
    """One for each worker process, opened and not yet started; safe to call from several threads."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.key: bytes = config.key()
        self.proxy_secret: str = config.proxy_secret() if config.proxy is not None else ""
        self.store: StateStore = StateStore(config.store_location)
        self.accounts: Accounts = Accounts(self.store, config.limits.session_hours)
        self.limiter: RateLimiter = RateLimiter(config.workers)
        self.metrics: Metrics = Metrics(config.state_directory)
        self.desk: RequestService = RequestService(config)
        self.lists: Lists = Lists(self.desk)
        self.jobs: Queue = Queue(self.store, config.tick)
        self.reading: Reading = Reading(self.desk, self.lists)
        self.releasing: Releasing = Releasing(
            self.key, self.store, self.accounts, self.limiter, self.jobs, self.reading
        )
        self.custody: Custody = Custody(self.releasing)
        runners = Runners(
            self.store, self.jobs, self.releasing.run_job, runners=config.runners, lease_seconds=config.lease_seconds
        )
        self.worker: Worker = Worker(self.store, self.metrics, self.desk, self.lists, runners)
