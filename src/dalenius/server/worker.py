"""One worker process of the server: its threads, what it prepares when it starts, and how it lets go."""

import threading
from dataclasses import dataclass, field

from dalenius.errors import DaleniusError
from dalenius.server import logs
from dalenius.server.errors import places
from dalenius.server.lists import Lists
from dalenius.server.metrics import Metrics
from dalenius.server.operations import RequestService
from dalenius.server.runners import Runners
from dalenius.server.store import StateStore

_PATIENCE = 30.0


@dataclass(frozen=True)
class Worker:
    store: StateStore
    metrics: Metrics
    desk: RequestService
    lists: Lists
    runners: Runners
    _ready: threading.Event = field(default_factory=threading.Event)
    _closing: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def is_ready(self) -> bool:
        """Whether everything that is registered and released on start is so."""
        return self._ready.is_set() or not self.desk.config.register_on_start

    def start(self) -> None:
        """Serve jobs, and open the data in the background so that the first release need not wait for it."""
        self.runners.start()
        for work in (self._warm, self._share_metrics):
            thread = threading.Thread(target=work, name=work.__name__.strip("_"), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _share_metrics(self) -> None:
        while not self._closing.wait(1.0):
            self.metrics.share()

    def _warm(self) -> None:
        try:
            if self.desk.config.register_on_start:
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
        self.runners.stop()
        for thread in self._threads:
            thread.join(_PATIENCE)
        self.metrics.close()
        self.desk.close()
        self.store.close()
