"""Schedules under which blocks of a custodian's own function run: what happens to their processes, and when.

A schedule disturbs calls of the operating system around real processes: a process is stopped, and goes on or does not,
or is killed; a call fails; reads are short; clocks jump. Whatever it does, a block must be answered from its own
records: with its own number where it was disturbed fewer times than it is tried, with it or with none where it was
disturbed every time.
"""

import errno
import os
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isnan
from random import Random
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.measurements.blocks.function import OwnFunction
from dalenius.measurements.blocks.runner import Machine, Runner

# Where in the life of a process it is disturbed: the calls of the machine, in their order.
STAGES = ("start", "look", "read", "used", "hand_over", "look again", "read again", "used again", "end")
DEEDS = ("stop and go on", "stop for ever", "kill", "terminate", "fail", "short reads", "clock", "time", "wait")
# Fewer than a block is tried, so that it is answered.
MOST_IN_A_ROW = 3


def adds_up(values):  # type: ignore[no-untyped-def]
    """Tell blocks apart, also by how many records they have."""
    return sum(values) + len(values) / 2


FUNCTION = OwnFunction.of(adds_up)
LONG = np.arange(20_000, dtype=np.int64)


@dataclass
class _Disturbance:
    """Of one lane: the process that runs, and what is done to it."""

    rng: Random
    process: int = 0
    stage: str = ""
    deed: str = ""
    done: bool = False
    in_a_row: int = 0
    looks: int = 0
    jumped: float = 0.0


@dataclass
class Schedule(Machine):
    """The machine itself, but for what a seed says; a hopeless one kills every process."""

    seed: int
    is_hopeless: bool = False
    disturbed: int = 0
    _lanes: Any = field(default_factory=threading.local)

    @property
    def lane(self) -> _Disturbance:
        """Of the thread that asks."""
        if not hasattr(self._lanes, "state"):
            self._lanes.state = _Disturbance(Random(f"{self.seed} {threading.current_thread().name[-1]}"))
        state: _Disturbance = self._lanes.state
        return state

    def start(self, told: int, channel: int) -> int:
        """Choose what is done to this process, and start it."""
        lane = self.lane
        lane.process, lane.looks, lane.done, lane.jumped = 0, 0, False, 0.0
        lane.stage, lane.deed = lane.rng.choice(STAGES), lane.rng.choice(DEEDS)
        is_spared = lane.in_a_row >= MOST_IN_A_ROW or lane.rng.random() < 0.4
        if self.is_hopeless:
            lane.stage, lane.deed, is_spared = lane.rng.choice(STAGES[:6]), "kill", False
        if is_spared:
            lane.stage, lane.in_a_row = "", 0
        else:
            lane.in_a_row += 1
            self.disturbed += 1
        if lane.stage == "start" and lane.deed == "fail":
            raise OSError(errno.EAGAIN, "no more processes")
        lane.process = super().start(told, channel)
        self._at("start")
        return lane.process

    def hand_over(self, channel: socket.socket, memory: int) -> None:
        """Hand the records over, unless it fails."""
        self._at("hand_over")
        super().hand_over(channel, memory)
        lane = self.lane
        # From here on the second half of the stages.
        lane.stage = lane.stage.removesuffix(" again")

    def look(self, channel: socket.socket) -> bool:
        """Look; a stopped process goes on, or the clock does."""
        lane = self.lane
        lane.looks += 1
        self._at("look")
        if lane.done and lane.deed == "stop and go on" and lane.looks > 2:
            with suppress(ProcessLookupError):
                os.kill(lane.process, signal.SIGCONT)
        if lane.done and lane.deed == "stop for ever" and lane.looks > 2:
            lane.jumped += 30.0
        return super().look(channel)

    def read(self, channel: socket.socket, count: int) -> bytes:
        """Read, perhaps a byte at a time."""
        self._at("read")
        return super().read(channel, 1 if self.lane.deed == "short reads" else count)

    def used(self, process: int) -> float:
        """Look at the processor's clock, which may be wrong."""
        self._at("used")
        return super().used(process) + (1e6 if self.lane.done and self.lane.deed == "time" else 0.0)

    def now(self) -> float:
        """Look at the machine's clock, which may have jumped."""
        return super().now() + self.lane.jumped

    def sleep(self, seconds: float) -> None:
        """The fixed time of a block is not what is looked at here."""

    def end(self, process: int) -> tuple[int | None, float | None]:
        """End it; what it used may be unknown."""
        lane = self.lane
        with suppress(OSError):
            self._at("end")
        ended, used = super().end(process)
        if lane.deed == "fail" and lane.stage == "end":
            return None, None
        return ended, used

    def _at(self, stage: str) -> None:
        """Do what the schedule says, once."""
        lane = self.lane
        if lane.done or lane.stage != stage or not lane.process:
            return
        lane.done, lane.looks = True, 0
        deeds = {
            "stop and go on": signal.SIGSTOP,
            "stop for ever": signal.SIGSTOP,
            "kill": signal.SIGKILL,
            "terminate": signal.SIGTERM,
        }
        if lane.deed in deeds:
            os.kill(lane.process, deeds[lane.deed])
        elif lane.deed == "fail":
            raise OSError(errno.EIO, "on command")
        elif lane.deed == "clock":
            lane.jumped = 1e6
        elif lane.deed == "wait":
            super().sleep(0.02)


def parts_of(seed: int) -> list[IntArray]:
    """Blocks of which no two have the same number, some longer than what a pipe holds."""
    rng = Random(f"parts {seed}")
    return [np.array([7, seed % 1000]), LONG[: rng.choice((2, 9_000, 20_000))] + 1]


def problem(seed: int) -> str:
    """What is wrong with the answers under one schedule; nothing if all is well."""
    parts, schedule = parts_of(seed), Schedule(seed=seed, is_hopeless=seed % 25 == 24)
    if seed % 2:
        parts.reverse()
    try:
        answers: Sequence[float] = Runner(function=FUNCTION, machine=schedule).run(parts, [1.0], 5.0)
    except Exception as error:
        return f"schedule {seed}: {type(error).__name__} after the charge"
    right = [float(part.sum()) + len(part) / 2 for part in parts]
    # A process that is killed every time may have said its number before.
    is_well = (
        all(isnan(a) or a == b for a, b in zip(answers, right, strict=True))
        if schedule.is_hopeless
        else answers == right
    )
    return "" if is_well else f"schedule {seed}: {answers} instead of {right}"


def first_problem(seeds: range) -> tuple[str, int]:
    """The first schedule under which something is wrong, and how many there were before it."""
    for number, seed in enumerate(seeds):
        if wrong := problem(seed):
            return wrong, number
    return "", len(seeds)
