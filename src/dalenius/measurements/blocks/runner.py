"""Who runs a custodian's own function over blocks: one process, memory and channel for each block alone.

A block's records are written into a memory of their own, which is sealed before the block's process is started and
handed to that process alone once it has said that it is shut. When it ends, nobody holds the memory any more: no block
can be answered from another's records. Whether a block has a number follows from its own records: its process is held
to processor time and memory of its own, and what something outside did to it (it was killed, or stood still) is not its
answer: it is run again.
"""

import marshal
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from math import ceil, nan
from pathlib import Path

import numpy as np

from dalenius.core.law import IntArray
from dalenius.errors import Unsupported
from dalenius.measurements.blocks.function import OwnFunction

_STAGES = 4
_READY, _SAYS_WHY, _ANSWER = 9, 401, 8
# How often a process that something outside ended is started again, and how long one may stand still without being
# stopped by us.
_ATTEMPTS, _PATIENCE, _LOOK = 4, 60.0, 0.01
# The time that a block takes: that of its processor, and so much for being handed records and for being ended.
_SLACK, _HANDING = 1.25, 0.05
_MEMORY = 4 << 30
# By what a process ends that does not end itself, None where that is not known: its own limits are looked at first.
_OUTSIDE = (None, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
Stage = Callable[[str], None]


class Machine:
    """What is asked of the operating system while a block's process runs; tests let it fail on command."""

    def start(self, told: int, channel: int) -> int:
        """The number of a new process that reads `told` and keeps `channel`."""
        process = subprocess.Popen(
            [sys.executable, "-I", _program()],
            stdin=told,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            pass_fds=(channel,),
            start_new_session=True,
        )
        # It is waited for here, with what it used; nobody else shall look after it.
        process.returncode = 0
        return process.pid

    def hand_over(self, channel: socket.socket, memory: int) -> None:
        socket.send_fds(channel, [b"!"], [memory])
        channel.shutdown(socket.SHUT_WR)

    def look(self, channel: socket.socket) -> bool:
        return bool(select.select([channel], [], [], _LOOK)[0])

    def read(self, channel: socket.socket, count: int) -> bytes:
        return channel.recv(count)

    def used(self, process: int) -> float:
        return time.clock_gettime((~process << 3) | 2)

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def end(self, process: int) -> tuple[int | None, float | None]:
        """Kill a process; by which signal it had ended (0: none), and its processor time; None if unknown."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        try:
            _, status, used = os.wait4(process, 0)
        except ChildProcessError:
            # Somebody else waits for all children of this process.
            return None, None
        return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), used.ru_utime + used.ru_stime


class Disturbed(Exception):
    """Something outside ended a block's process or kept it from running: it says nothing of the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs one function over blocks, several at once; `stage` hears how far it is, at times that no record decides."""

    function: OwnFunction
    stage: Stage = lambda _: None
    machine: Machine = field(default_factory=Machine)
    patience: float = _PATIENCE

    def run(self, parts: Sequence[IntArray], units: Sequence[float], seconds: float) -> list[float]:
        """What the function says of each block; not a number where it failed, was too slow or said something else."""
        lanes = max(1, min(os.cpu_count() or 1, _physical() // _memory() - 1, len(parts)))
        places = [range(lane, len(parts), lanes) for lane in range(lanes)]
        answers = [nan] * len(parts)

        def drive(lane: int) -> None:
            every = ceil(len(places[lane]) / _STAGES)
            for number, place in enumerate(places[lane], 1):
                answers[place] = self._in_time(parts[place], units, seconds)
                if lane == 0 and number % every == 0:
                    self.stage(f"running {self.function.name}: {100 * number // len(places[lane])} %")

        with ThreadPoolExecutor(lanes) as pool:
            list(pool.map(drive, range(lanes)))
        return answers

    def check(self) -> None:
        """Refuse a function of which no block could be answered on this machine; no record is needed to know."""
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise Unsupported(
                "Functions run where the kernel filters what they may ask of it: on Linux for x86-64, which this is "
                "not.",
                key="function",
            )
        reason: str | None = "its process does not start, or does not get ready"
        for _ in range(_ATTEMPTS):
            with suppress(Disturbed, OSError), _Process(self, [1.0], 1.0) as process:
                reason = process.wait_until_ready()
                break
        if reason is not None:
            raise Unsupported(
                f"{self.function.name!r} cannot be run in a process of its own: {reason}. A function needs modules "
                "that a fresh"
                " interpreter imports by itself, and a system that allows a filter of system calls (seccomp).",
                key="function",
            )

    def _in_time(self, part: IntArray, units: Sequence[float], seconds: float) -> float:
        """One block's number, after a whole number of its fixed times: one, unless the machine was too busy."""
        content = np.ascontiguousarray(part, dtype="<i8").tobytes()
        answer, handed = nan, None
        for _ in range(_ATTEMPTS):
            with (
                suppress(Disturbed, OSError),
                closing(_memory_of(content)) as memory,
                _Process(self, units, seconds) as process,
            ):
                if process.wait_until_ready() is None:
                    handed = self.machine.now()
                    answer = process.answer(memory.place)
                    break
            self.machine.sleep(_LOOK)
        if handed is not None:
            fixed = _SLACK * seconds + _HANDING
            taken = max(self.machine.now() - handed, 0.0)
            self.machine.sleep(ceil(taken / fixed) * fixed - taken)
        return answer


@dataclass(frozen=True, slots=True)
class _Memory:
    """Memory without a name that nobody finds who is not handed it, and nobody changes."""

    place: int

    def close(self) -> None:
        os.close(self.place)


def _memory_of(content: bytes) -> _Memory:
    import fcntl

    memory = _Memory(os.memfd_create("block", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    try:
        with open(memory.place, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(memory.place, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(memory.place, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        memory.close()
        raise
    return memory


class _Process:
    """One process, from its start to its end; it is gone when the block of the `with` statement is left."""

    def __init__(self, runner: Runner, units: Sequence[float], seconds: float) -> None:
        self._runner, self._machine, self._seconds = runner, runner.machine, seconds
        # Processor time in all, and what of it was used before the function could begin.
        self._used, self._before = 0.0, 0.0
        self._channel, theirs = socket.socketpair()
        own = runner.function
        told = {
            "source": own.source,
            "name": own.name,
            "modules": list(own.modules),
            "names": list(own.names),
            "units": list(units),
            "seconds": seconds,
            "memory": _memory(),
            "channel": theirs.fileno(),
        }
        try:
            with theirs, closing(_memory_of(marshal.dumps(told))) as public:
                self._process = self._machine.start(public.place, theirs.fileno())
        except BaseException:
            self._channel.close()
            raise

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> int | None:
        process, self._process = self._process, 0
        if not process:
            return 0
        self._channel.close()
        ended, used = self._machine.end(process)
        self._used = self._used if used is None else used
        return ended

    def wait_until_ready(self) -> str | None:
        """None once the process is shut and waits for records; or why no such process can be."""
        said = self._heard(_SAYS_WHY, lambda told: told[:1] == b"!" and len(told) >= _READY, self._runner.patience)
        if said[:1] == b"!" and len(said) == _READY:
            self._before = struct.unpack("<d", said[1:])[0]
            return None
        if said[:1] == b"?":
            return said[1:].decode(errors="replace")
        raise Disturbed

    def answer(self, memory: int) -> float:
        """The number that the function gives; not a number where the block's own process left none."""
        self._machine.hand_over(self._channel, memory)
        limit = self._before + self._seconds
        said = self._heard(_ANSWER + 1, lambda told: len(told) > _ANSWER, limit)
        ended = self._end()
        if self._used > limit:
            return nan
        if len(said) == _ANSWER:
            return float(struct.unpack("<d", said)[0])
        if not said and ended in _OUTSIDE:
            raise Disturbed
        return nan

    def _heard(self, most: int, is_enough: Callable[[bytes], bool], limit: float) -> bytes:
        """What the process says until it ends, has said enough, or has used up its processor time."""
        said, moved = b"", self._machine.now()
        while len(said) < most and not is_enough(said):
            if self._machine.look(self._channel):
                part = self._machine.read(self._channel, most - len(said))
                if not part:
                    break
                said += part
                continue
            used = self._machine.used(self._process)
            if used > limit:
                break
            if used > self._used:
                self._used, moved = used, self._machine.now()
            elif self._machine.now() - moved > self._runner.patience:
                raise Disturbed
        return said


@cache
def _physical() -> int:
    """Bytes of memory of this machine, or of the part of it that this process may use."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(sizes)


def _memory() -> int:
    """Bytes that one block's process may use, so that all of them together have room."""
    return min(_MEMORY, _physical() // 2)


def _program() -> str:
    """The file that the interpreter is given; it is loaded here for its place alone, and only where a function runs."""
    from dalenius.measurements.blocks._child import main

    return main.__code__.co_filename


def _environment() -> Mapping[str, str]:
    """One thread, so that arithmetic is the same in every process; nothing of what this process knows."""
    single = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", **dict.fromkeys(single, "1")}
