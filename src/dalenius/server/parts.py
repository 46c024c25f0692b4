"""What all services share: configuration, store, accounts, ledger desk, lists and queue of one worker process."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from dalenius.core.release import Release
from dalenius.errors import DaleniusError, TooLarge
from dalenius.server import logs
from dalenius.server.accounts import Accounts, Role, User
from dalenius.server.auth import require
from dalenius.server.config import ServerConfig
from dalenius.server.errors import places
from dalenius.server.lists import Lists
from dalenius.server.metrics import Metrics
from dalenius.server.operations import Desk
from dalenius.server.runners import Jobs
from dalenius.server.security import RateLimiter
from dalenius.server.store import Store
from dalenius.server.views import DatasetView, Download
from dalenius.spec.load import load_request
from dalenius.spec.request import RequestDocument

RELEASERS = (Role.ANALYST, Role.CUSTODIAN)
READERS = (Role.CUSTODIAN, Role.AUDITOR)
Document = Mapping[str, Any] | str | RequestDocument


class Parts:
    """Opened once for each worker process."""

    jobs: Jobs

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.key = config.key()
        self.proxy_secret = config.proxy_secret() if config.proxy is not None else ""
        self.store = Store(config.store_location)
        self.accounts = Accounts(self.store, config.limits.session_hours)
        self.limiter = RateLimiter(config.workers)
        self.metrics = Metrics(config.state_directory)
        self.desk = Desk(config)
        self.lists = Lists(self.desk)
        self._datasets: dict[str, DatasetView] = {}
        self._searched: dict[str, str] = {}
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
                self._register_and_release_lists()
            self.is_ready = True
            self.desk.warm()
        except Exception as error:
            logs.event("warming failed", 40, kind=type(error).__name__, places=places(error))

    def _register_and_release_lists(self) -> None:
        """What cannot be registered or released is said in the log, and refused to whoever asks for it."""
        try:
            self.desk.register_all(by="server")
        except DaleniusError as error:
            logs.event("not registered", 40, code=error.code, message=error.message)
        for served in self.desk.served.values():
            try:
                self.lists.release(served)
            except DaleniusError as error:
                logs.event(
                    "list not released", 40, dataset=served.name, code=error.code, message=error.message
                )

    def close(self) -> None:
        """Finish what is under way, then let go of everything."""
        self._closing.set()
        self.jobs.stop()
        self.metrics.close()
        self.desk.close()
        self.store.close()

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

    def served_populations(self) -> tuple[str, ...]:
        return tuple(sorted({served.curator.domain.population for served in self.desk.served.values()}))

    @staticmethod
    def named(user: User) -> str:
        require(user, Role.ANALYST, Role.CUSTODIAN, Role.AUDITOR)
        return user.name
