"""A Spark cluster of a master and two workers on the loopback, with small heaps, every process of which is ended."""

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from tests.ledger.conftest import free_port

SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """Started on entry; on exit every process is killed, executors of the workers included."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.port = free_port()

    def __enter__(self) -> "Cluster":
        self._start("master.Master", "--host", "127.0.0.1", "--port", self.port, "--webui-port", 0)
        for _ in range(600):
            with socket.socket() as probe, suppress(OSError):
                probe.settimeout(1)
                probe.connect(("127.0.0.1", self.port))
                break
            time.sleep(0.1)
        for number in range(2):
            place = self._folder / f"worker{number}"
            address = f"spark://127.0.0.1:{self.port}"
            options = ("--webui-port", 0, "--cores", 1, "--memory", "600m", "--work-dir", place)
            self._start("worker.Worker", "--host", "127.0.0.1", *options, address)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            self._kill(process)

    def kill_everything(self) -> None:
        """The master and every worker, at once."""
        while self._processes:
            self._kill(self._processes.pop())

    def kill_a_worker(self, leaving: int) -> None:
        """At once, with whatever it runs; so many are left."""
        if len(self._processes) - 1 > leaving:
            self._kill(self._processes.pop())

    def _start(self, name: str, *arguments: object) -> None:
        command = [*self._command, f"{_DEPLOY}.{name}", *map(str, arguments)]
        self._processes.append(
            subprocess.Popen(
                command,
                env=os.environ | self._settings,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    @cached_property
    def _command(self) -> list[str]:
        """How Spark starts one of its own programs, up to its name: `spark-class` would ask another virtual machine for each of them."""
        jars = str(self._home / "jars" / "*")
        asked = ["java", *SMALL.split(), "-cp", jars, "org.apache.spark.launcher.Main", f"{_DEPLOY}.master.Master"]
        told = subprocess.run(asked, env=os.environ | self._settings, capture_output=True, check=True, timeout=60)
        words = [word.decode().strip() for word in told.stdout.split(b"\0")]
        return [word for word in words[: words.index(f"{_DEPLOY}.master.Master")] if word]

    @property
    def _settings(self) -> dict[str, str]:
        [core] = (self._home / "jars").glob("spark-core_*.jar")
        return {
            "SPARK_HOME": str(self._home),
            "SPARK_SCALA_VERSION": core.name.removeprefix("spark-core_").partition("-")[0],
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL,
            "SPARK_CONF_DIR": str(self._folder),
            "SPARK_LOCAL_DIRS": str(self._folder),
        }

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
