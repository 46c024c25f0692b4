"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

`reading` is open to everybody, as far as a release is published; `releasing` plans and releases, for analyst and
custodian; `custody` is for custodian and auditor. The other fields are their parts, for auth.py and the routes.
"""

import threading

from dalenius.errors import DaleniusError
from dalenius.server import logs
from dalenius.server.accounts import Accounts
from dalenius.server.config import ServerConfig
from dalenius.server.custody import Custody
from dalenius.server.errors import places
from dalenius.server.jobs import Queue, Runners
from dalenius.server.metrics import Metrics
from dalenius.server.operations import RequestService
from dalenius.server.reading import Lists, Reading
from dalenius.server.releasing import Releasing
from dalenius.server.security import RateLimiter
from dalenius.server.store import StateStore

_PATIENCE = 30.0


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
        self._runners = Runners(
            self.store, self.jobs, self.releasing.run_job, runners=config.runners, lease_seconds=config.lease_seconds
        )
        self._ready, self._closing = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def is_ready(self) -> bool:
        """Whether everything that is registered and released on start is so."""
        return self._ready.is_set() or not self.config.register_on_start

    def start(self) -> None:
        """Serve jobs, and open the data in the background so that the first release need not wait for it."""
        self._runners.start()
        for work in (self._warm, self._share_metrics):
            thread = threading.Thread(target=work, name=work.__name__.strip("_"), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _share_metrics(self) -> None:
        while not self._closing.wait(1.0):
            self.metrics.share()

    def _warm(self) -> None:
        try:
            if self.config.register_on_start:
                self._register_and_release_lists()
            self._ready.set()
            self.desk.warm(self._closing)
        except Exception as error:
            logs.event("warming failed", 40, kind=type(error).__name__, places=places(error))

    def _register_and_release_lists(self) -> None:
        """What cannot be registered or released is said in the log, and refused to whoever asks for it."""
        try:
            self.desk.register_all(by="server")
        except DaleniusError as error:
            logs.event("not registered", 40, code=error.code, message=error.message)
        for served in self.desk.served.values():
            if self._closing.is_set():
                return
            try:
                self.lists.release(served)
            except DaleniusError as error:
                logs.event("list not released", 40, dataset=served.name, code=error.code, message=error.message)

    def close(self) -> None:
        self._closing.set()
        self._runners.stop()
        for thread in self._threads:
            thread.join(_PATIENCE)
        self.metrics.share(now=True)
        self.desk.close()
        self.store.close()
