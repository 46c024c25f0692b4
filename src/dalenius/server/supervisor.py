"""Worker processes: imported once, forked, watched, and begun again when one dies.

The parent binds the socket and opens nothing else: no ledger, no store, no data, no threads. Each child opens its own.
A child that is killed is replaced at once; what it was doing is taken over as `jobs.py` says. A child that is
refused when it starts (a broken ledger, a document that is not accepted) ends the server with that one
message; where a disk or database does not answer, it is tried again.
"""

import gc
import json
import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any

import uvicorn

from dalenius.errors import Conflict, DaleniusError, StorageError
from dalenius.server import logs
from dalenius.server.config import ServerConfig
from dalenius.server.errors import places

_SHUTDOWN_SECONDS = 30
_SHORT_LIFE = 2.0


def serve(config: ServerConfig, host: str, port: int, workers: int) -> int:
    from dalenius.server import app

    # Workers share the processors; who sets the variable is heard.
    os.environ.setdefault("DALENIUS_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": _SHUTDOWN_SECONDS,
    }
    if workers == 1:
        uvicorn.Server(uvicorn.Config(app.create_app(config), **options)).run()
        return 0
    app.preload(with_pages=config.pages)
    return _Supervisor(config, options, workers).run()


class _Supervisor:
    def __init__(self, config: ServerConfig, options: dict[str, Any], workers: int) -> None:
        self._config = config
        self._options = options
        self._workers = workers
        self._born: dict[int, float] = {}
        self._reports: dict[int, int] = {}
        self._is_stopping = False
        self._socket = _bound(options["host"], options["port"])

    def run(self) -> int:
        """Keep so many workers alive; end them gracefully when asked to."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        gc.freeze()
        for _ in range(self._workers):
            self._fork()
        logs.event("serving", workers=self._workers, parent=os.getpid())
        try:
            while not self._is_stopping:
                self._replace_dead()
                time.sleep(0.05)
        except DaleniusError:
            self._end()
            raise
        return self._end()

    def _stop(self, *_: object) -> None:
        self._is_stopping = True

    def _fork(self) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._work(writing)
        os.close(writing)
        self._born[pid], self._reports[pid] = time.monotonic(), reading

    def _work(self, report: int) -> None:
        """The life of a child; never returns. Why it was refused at its start goes to the parent."""
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            from dalenius.server.app import create_app

            server = uvicorn.Server(uvicorn.Config(create_app(self._config), **self._options))
            server.run(sockets=[self._socket])
            code = 0
        except KeyboardInterrupt:
            code = 0
        except StorageError as error:
            logs.event("worker failed", 50, code=error.code, message=error.message)
        except DaleniusError as error:
            reason = {"code": error.code, "exit_code": error.exit_code, "message": error.message[:4000]}
            os.write(report, json.dumps(reason).encode())
        except Exception as error:
            logs.event("worker failed", 50, kind=type(error).__name__, places=places(error))
        finally:
            os._exit(code)

    def _replace_dead(self) -> None:
        for pid in self._ended():
            lived = time.monotonic() - self._born.pop(pid)
            refusal = self._refusal(pid)
            if refusal is not None:
                raise refusal
            logs.event("worker ended", 40, worker=pid)
            if lived < _SHORT_LIFE:
                # One that dies at birth would otherwise be begun again as fast as the machine can.
                time.sleep(1.0)
            if not self._is_stopping:
                self._fork()

    def _refusal(self, pid: int) -> DaleniusError | None:
        """Why a worker that ended could not start, with the code and exit code of its own error; None if it could."""
        reading = self._reports.pop(pid)
        text = os.read(reading, 1 << 16)
        os.close(reading)
        if not text:
            return None
        reason = json.loads(text)
        kind = type("WorkerRefused", (DaleniusError,), {k: reason[k] for k in ("code", "exit_code")})
        refusal: DaleniusError = kind(reason["message"])
        return refusal

    def _ended(self) -> list[int]:
        def has_ended(pid: int) -> bool:
            try:
                return os.waitpid(pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                return True

        return [pid for pid in self._born if has_ended(pid)]

    def _signal(self, number: int) -> None:
        for pid in self._born:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end(self) -> int:
        self._signal(signal.SIGTERM)
        until = time.monotonic() + _SHUTDOWN_SECONDS + 10
        while self._born and time.monotonic() < until:
            for pid in self._ended():
                del self._born[pid]
            time.sleep(0.02)
        self._signal(signal.SIGKILL)
        self._socket.close()
        return 0 if not self._born else 1


def _bound(host: str, port: int) -> socket.socket:
    """A bound socket that says it is TCP.

    The event loop switches Nagle's algorithm off only for sockets that name their protocol; with it on, each answer
    would wait some 40 ms for the client's delayed acknowledgement.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        raise Conflict(f"The server cannot listen on {host} port {port}: {error.strerror}.") from None
    bound.set_inheritable(True)
    return bound
