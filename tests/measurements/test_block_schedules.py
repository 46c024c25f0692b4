"""Blocks of a custodian's own function under injected schedules, and runners with planted faults that schedules must find.

The runner before this one read the records of all blocks from one pipe: with reads of a block's process that stop on command, 31 of 50
schedules gave a block the number of another one.
"""

import ctypes
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius.errors import Unsupported
from dalenius.measurements.blocks import runner as _runner
from dalenius.measurements.blocks.function import OwnFunction
from dalenius.measurements.blocks.runner import Machine, Runner
from dalenius_lab.attackers import block_schedules
from dalenius_lab.attackers.block_schedules import DEEDS, STAGES, Schedule, first_problem

SCHEDULES, FOUND_WITHIN = 500, 50


class Unpadded(Machine):
    """The machine itself, but for the fixed time of a block."""

    def sleep(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize("part", range(4))
def test_no_schedule_mixes_blocks_loses_one_or_raises(part: int) -> None:
    assert first_problem(range(part, SCHEDULES, 4)) == ("", SCHEDULES // 4)


def test_schedules_disturb_every_stage_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first schedules choose, without running anything."""
    monkeypatch.setattr(Machine, "start", lambda self, told, channel: 0)
    chosen = set()
    for seed in range(SCHEDULES):
        schedule = Schedule(seed=seed)
        for _ in range(2):
            try:
                schedule.start(0, 0)
            except OSError:
                chosen.add(("start", "fail"))
            chosen.add((schedule.lane.stage, schedule.lane.deed))
    assert chosen >= {(stage, deed) for stage in STAGES for deed in DEEDS}


def _shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks in one memory with one place to read from: what a process leaves unread is read by the next one."""
    shared = os.memfd_create("shared")
    private, size = _runner._memory_of, [0]

    def wrong(content: bytes) -> Any:
        if len(content) % 8 or not content:
            # What everybody may know, for a process that starts.
            return private(content)
        size[0] += os.pwrite(shared, content, size[0])
        return _runner._Memory(os.dup(shared))

    monkeypatch.setattr(_runner, "_memory_of", wrong)


def _tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens outside is a block's answer."""
    monkeypatch.setattr(_runner, "_ATTEMPTS", 1)


def _clock_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block's time is what passes on the clock of the machine, which others take from it."""
    begun: dict[int, float] = {}

    def used(self: Schedule, process: int) -> float:
        return self.now() - begun.setdefault(process, self.now())

    monkeypatch.setattr(Schedule, "used", used)
    monkeypatch.setattr(_runner, "_OUTSIDE", ())


def _errors_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails is an error of the release, which is charged already."""
    monkeypatch.setattr(_runner, "OSError", KeyError, raising=False)


def _whatever_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first bytes are the answer, also where they are not all."""
    right = struct.unpack

    def wrong(kind: str, content: bytes) -> Any:
        return right(kind, content[:8].ljust(8, b"\0")) if kind == "<d" else right(kind, content)

    monkeypatch.setattr(_runner.struct, "unpack", wrong)
    monkeypatch.setattr(_runner, "_ANSWER", 0)


PLANTED = (_shared_memory, _tried_once, _clock_of_the_machine, _errors_come_out, _whatever_arrived)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_a_planted_fault_is_found_within_fifty_schedules(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert first_problem(range(FOUND_WITHIN))[0]


def test_the_memory_of_a_block_is_sealed_and_has_no_name() -> None:
    memory = _runner._memory_of(b"records")
    try:
        with pytest.raises(OSError):
            os.write(memory.place, b"others")
        with pytest.raises(OSError):
            os.ftruncate(memory.place, 0)
        assert os.fstat(memory.place).st_nlink == 0 and os.read(memory.place, 99) == b"records"
    finally:
        memory.close()


def burns(values):  # type: ignore[no-untyped-def]
    import time

    end = time.process_time() + values[0]
    while time.process_time() < end:
        pass
    return 1.0


def test_a_block_is_held_to_its_own_processor_time() -> None:
    """However long it takes on the clock: half of it is allowed, twice as much is not."""
    runner = Runner(function=OwnFunction.of(burns))
    answers = runner.run([np.array([1]), np.array([4])], [0.1], 0.2)
    assert answers[0] == 1.0 and isnan(answers[1])


def test_a_function_cannot_wait_for_what_never_comes() -> None:
    def waits(values):  # type: ignore[no-untyped-def]
        import _thread

        lock = _thread.allocate_lock()
        return lock.acquire() + lock.acquire()

    def reads(values):  # type: ignore[no-untyped-def]
        import os

        return sum(len(os.read(place, 9)) for place in range(9))

    for function in (waits, reads):
        runner = Runner(function=OwnFunction.of(function), machine=Unpadded())
        (answer,) = runner.run([np.array([1])], [1.0], 30.0)
        assert isnan(answer)


def test_a_program_that_ignores_its_children_still_gets_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else waited for the process: how it ended and what it used is not known, but for what was seen."""

    def end(self: Machine, process: int) -> tuple[int | None, float | None]:
        os.kill(process, 9)
        os.waitpid(process, 0)
        return right(self, process)

    right = Machine.end
    monkeypatch.setattr(Machine, "end", end)
    runner = Runner(function=block_schedules.FUNCTION, machine=Unpadded())
    (answer,) = runner.run([np.array([2, 3])], [1.0], 5.0)
    assert answer == 6.0


def test_processes_and_memory_are_gone_afterwards() -> None:
    runner = Runner(function=block_schedules.FUNCTION, machine=Schedule(seed=3))
    runner.run([np.arange(5)] * 3, [1.0], 1.0)
    before = sorted(os.listdir("/proc/self/fd"))
    runner.run([np.arange(5)] * 3, [1.0], 1.0)
    assert sorted(os.listdir("/proc/self/fd")) == before
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    assert str(_runner._program()) not in "".join(
        Path(f"/proc/{child}/cmdline").read_text() for child in children.split()
    )


def refusal(function: Callable[..., Any]) -> str:
    with pytest.raises(Unsupported) as raised:
        Runner(function=OwnFunction.of(function)).check()
    return raised.value.message


def test_a_function_that_cannot_be_run_is_refused() -> None:
    def needs_a_module(values):  # type: ignore[no-untyped-def]
        import there_is_no_such_module

        return there_is_no_such_module.number(values)

    def takes_from_a_module(values):  # type: ignore[no-untyped-def]
        from there_is_no_such_module import number

        return number(values)

    def has_a_default(values, more=open("/etc/hostname")):  # type: ignore[no-untyped-def]  # noqa: B008, SIM115
        return 1.0

    def takes_what_is_no_module(values):  # type: ignore[no-untyped-def]
        from math import sqrt

        return sqrt(len(values))

    assert "'there_is_no_such_module' cannot be imported" in refusal(needs_a_module)
    assert "'there_is_no_such_module' cannot be imported" in refusal(takes_from_a_module)
    assert "its source cannot be run" in refusal(has_a_default)
    Runner(function=OwnFunction.of(takes_what_is_no_module)).check()


def test_modules_that_start_threads_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "starts_threads.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
    )
    monkeypatch.setattr(_runner, "_environment", lambda: {"PYTHONPATH": str(tmp_path)})
    monkeypatch.setattr(_runner.sys, "executable", _without_isolation(tmp_path))

    def needs_threads(values):  # type: ignore[no-untyped-def]
        import starts_threads

        return len(dir(starts_threads))

    assert "starts threads" in refusal(needs_threads)


def _without_isolation(folder: Path) -> str:
    """An interpreter that finds modules of a folder: what a custodian who installs them has."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} "$@"\n')
    program.chmod(0o700)
    return str(program)


@pytest.mark.parametrize(("platform", "machine"), [("darwin", "x86_64"), ("linux", "aarch64")])
def test_systems_without_the_filter_are_refused(platform: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runner.sys, "platform", platform)
    monkeypatch.setattr(_runner.platform, "machine", lambda: machine)
    assert "Linux for x86-64" in refusal(block_schedules.adds_up)


def test_a_process_that_never_gets_ready_is_refused() -> None:
    class Never(Machine):
        def start(self, told: int, channel: int) -> int:
            raise OSError

    with pytest.raises(Unsupported, match="does not start"):
        Runner(function=block_schedules.FUNCTION, machine=Never()).check()


REFUSED_FILTER = """
import ctypes, struct, sys
sys.path[:0] = {path!r}
step = struct.Struct("<HBBI").pack
# prctl(PR_SET_SECCOMP) and seccomp are refused with EPERM, everything else is allowed: a system that does not let filters be set.
program = b"".join([
    step(0x20, 0, 0, 0), step(0x15, 4, 0, 317), step(0x15, 0, 2, 157), step(0x20, 0, 0, 16), step(0x15, 1, 0, 22),
    step(6, 0, 0, 0x7FFF0000), step(6, 0, 0, 0x00050001),
])
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("first", ctypes.c_void_p)]
held = ctypes.create_string_buffer(program, len(program))
described = Filter(len(program) // 8, ctypes.cast(held, ctypes.c_void_p).value)
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, ctypes.byref(described), 0, 0)
from dalenius import Curator, table
from dalenius.errors import Unsupported
from dalenius_lab.attackers.block_schedules import adds_up
declaration = {{"dataset": {{"name": "d", "population": "p"}}, "variables": {{"x": {{"bounds": [0, 9], "step": 1, "missing": 0}}}}}}
with Curator.open({{"x": [1, 2, 3]}}, declaration, ledger=sys.argv[1], policy={{"budget": {{"rho": 5}}}}) as curator:
    curator.register()
    request = table(measure="sample_and_aggregate", of="x", model="function", function=curator.function(adds_up),
                    clip=[0, 9], blocks=2, epsilon=1)
    before = curator.left
    for ask in (curator.plan, curator.release, curator.quote):
        try:
            ask(request)
        except Unsupported as error:
            print(error.message)
    assert curator.left == before
"""


def test_a_system_that_refuses_the_filter_refuses_the_plan(tmp_path: Path) -> None:
    """A real kernel that says no, not a stand-in: a filter around the program refuses the filter of its children."""
    program = REFUSED_FILTER.format(path=[path for path in sys.path if path])
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "l.sqlite")], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and all("the system refuses the filter of system calls" in line for line in lines), (
        done.stderr
    )


def test_the_number_of_lanes_leaves_room_for_the_memory_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    class Watching(Unpadded):
        def start(self, told: int, channel: int) -> int:
            seen.add(threading.current_thread().name)
            return super().start(told, channel)

    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(_runner, "_physical", lambda: 4 << 30)
    assert _runner._memory() == 2 << 30
    Runner(function=block_schedules.FUNCTION, machine=Watching()).run([np.arange(3)] * 4, [1.0], 1.0)
    assert len(seen) == 1


def test_a_filter_is_not_believed_before_it_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that says yes and filters nothing: the process asks for what must be refused before it says that it is ready."""
    from dalenius.measurements.blocks import _child

    class Pretends:
        def prctl(self, *_: object) -> int:
            return 0

    with pytest.raises(_child.Unready, match="not in force"):
        _child._filter(Pretends())
    assert ctypes.sizeof(_child._Filter) == 16
