"""The one Spark session of a process: started when data are first opened, quiet, and stopped when the process ends.

`spark://local?path=…` runs on this machine, `spark://host:port?path=…` on a standalone cluster. Whoever has a session
already (in a notebook) keeps it, and data are opened in it beside whatever else it does.
"""

import atexit
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dalenius.errors import DocumentError, InternalError, MissingExtra

SCHEME = "spark"
_EXAMPLE = (
    'For example: source = "spark://local?path=/data/persons" or '
    '"spark://master.example:7077?path=hdfs://name/persons".'
)
_BATCH_ROWS = 50_000
# Where the cluster is, who may use it and how much memory it takes is the business of Spark's own configuration.
# Statistics of confidential columns decide nothing, odd values of foreign types print alike everywhere, overflow is
# loud.
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.cbo.enabled": "false",
}
_START = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.catalogImplementation": "in-memory",
}
# How long a question waits for a cluster without workers, which may be starting, before it fails.
PATIENCE_SECONDS = 300.0
_LOOK_SECONDS = 1.0
_turn = threading.RLock()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkAddress:
    master: str
    path: str

    @classmethod
    def of(cls, source: str) -> "SparkAddress":
        """From `spark://local?path=…` or `spark://host:port?path=…`; the message of a refusal shows none of it."""
        try:
            parts = urlsplit(source)
            options, port = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query))), parts.port
        except ValueError:
            raise DocumentError(f"The address of the Spark cluster cannot be read. {_EXAMPLE}") from None
        path = options.pop("path", "")
        if parts.username or parts.password or options or parts.path.strip("/") or not parts.hostname:
            raise DocumentError(
                "The address of a Spark cluster is a host, a port and the path of its data, and nothing else. "
                f"{_EXAMPLE}"
            )
        if "://" not in path and not Path(path).is_absolute():
            raise DocumentError(f"The path of data in Spark must be absolute, or an address. {_EXAMPLE}")
        is_local = parts.hostname == "local" and port is None
        return cls(master="local[*]" if is_local else f"spark://{parts.hostname}:{port or 7077}", path=path)

    def beside(self, source: str) -> "SparkAddress":
        """Other data of the same cluster: their path alone, or the same address with another path."""
        if source.partition("://")[0].lower() != SCHEME:
            if "://" not in source and not Path(source).is_absolute():
                raise DocumentError(f"The path of data in Spark must be absolute, or an address. {_EXAMPLE}")
            return replace(self, path=source)
        other = SparkAddress.of(source)
        if other.master != self.master:
            raise DocumentError("Tables that are joined are read by one Spark cluster.")
        return other


class SparkFrame:
    def __init__(self, address: SparkAddress, beside: "SparkFrame | None" = None) -> None:
        self._process = os.getpid()
        self._address = address
        # One statement reads what stands in one session.
        self._session: Any = _session_of(address.master) if beside is None else beside._session
        try:
            frame = self._session.read.parquet(address.path)
            self.kinds: dict[Any, str] = {name: str(kind) for name, kind in frame.dtypes}
            self.relation: str = f"microdata_{id(self)}"
            frame.createOrReplaceTempView(self.relation)
        except Exception as error:
            # What Spark says may quote what a file holds.
            raise DocumentError(
                "The data could not be read by Spark: a Parquet file or a folder of them is accepted, and every worker "
                f"must reach it. Complaint: {type(error).__name__}."
            ) from None

    def run(self, statement: str) -> Iterator[Sequence[Any]]:
        yield self._asked(lambda: self._session.sql(statement).collect())

    def stream(self, statement: str) -> Iterator[Sequence[Any]]:
        rows = self._asked(lambda: self._session.sql(statement).toLocalIterator())
        while batch := self._asked(lambda: list(islice(rows, _BATCH_ROWS))):
            yield batch

    def files(self) -> list[Path] | None:
        """The files of data on this machine; None where the data lie elsewhere."""
        path = self._address.path.removeprefix("file://")
        if "://" in path:
            return None
        place = Path(path)
        return sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]

    @property
    def is_here(self) -> bool:
        return self._address.master.startswith("local")

    def close(self) -> None:
        if os.getpid() == self._process:
            try:
                self._session.catalog.dropTempView(self.relation)
            except Exception:  # The session may have ended before: nothing is left to forget.
                return

    def _asked(self, question: Any) -> Any:
        if os.getpid() != self._process:
            raise InternalError("Data are not shared with a forked process; open them there again.")
        try:
            with _Watch(self._session.sparkContext, self._address):
                return question()
        except Exception:
            raise InternalError("The data could not be read by the engine.") from None


class _Watch:
    """Ends the jobs of a cluster without workers: Spark would wait for ever, with a charge that nobody completes."""

    def __init__(self, context: Any, address: SparkAddress) -> None:
        self._context = context
        self._is_needed = not address.master.startswith("local")
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        if self._is_needed:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._is_needed:
            self._thread.join(timeout=10)

    def _look(self) -> None:
        alone_since = None
        while not self._is_over.wait(_LOOK_SECONDS):
            try:
                # The driver is one of them.
                workers = int(self._context._jsc.sc().getExecutorMemoryStatus().size()) - 1
                alone_since = None if workers > 0 else alone_since or time.monotonic()
                if alone_since is not None and time.monotonic() - alone_since > PATIENCE_SECONDS:
                    self._context.cancelAllJobs()
            except Exception:  # The session ended under us: then so do its jobs.
                return


def _session_of(master: str) -> Any:
    try:
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("spark", "pyspark") from None
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # They print the value that a statement failed on to the terminal, whoever catches the error.
        PySparkLogger.getLogger(name).disabled = True
    with _turn:
        active = SparkSession.getActiveSession() or SparkSession._instantiatedSession
        if active is None or active.sparkContext._jsc is None:
            active = _started(master)
        elif active.sparkContext.master.partition("[")[0] != master.partition("[")[0]:
            raise DocumentError(
                "This process already works with another Spark cluster; a process has one. Open the data in a "
                "process of their own."
            )
        session = active.newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        return session


def _started(master: str) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and (Path(home) / "bin" / "java").exists())):
        raise DocumentError("Spark needs Java 17 or 21, and there is none: install one, or set JAVA_HOME.")
    try:
        own = _START | ({"spark.driver.host": "127.0.0.1"} if master.startswith("local") else {})
        conf = SparkConf().setAppName("dalenius").setMaster(master).setAll(list(own.items()))
        gateway = SparkContext._gateway
        if gateway is None:
            # The virtual machine writes about data and folders to the terminal; nobody reads it there.
            gateway = launch_gateway(conf, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})
        context = SparkContext(conf=conf, gateway=gateway)
        atexit.register(stop)
        return SparkSession(context)
    except Exception as error:
        raise DocumentError(
            "Spark could not be started, or its cluster cannot be reached. It needs Java 17 or 21."
            f" Complaint: {type(error).__name__}."
        ) from None


def end_session() -> None:
    """End the session alone; its virtual machine serves the next one, on whichever cluster."""
    from pyspark.sql import SparkSession

    with _turn:
        active = SparkSession._instantiatedSession
        if active is not None:
            active.stop()


def stop() -> None:
    """End the session and its virtual machine; the next data that are opened start another."""
    from pyspark import SparkContext

    with _turn:
        end_session()
        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        if gateway is not None:
            gateway.shutdown()
            machine = getattr(gateway, "proc", None)
            if machine is not None:
                machine.stdin.close()
                try:
                    machine.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    machine.kill()
                    machine.wait(timeout=20)
