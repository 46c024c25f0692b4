"""A custodian's own function: known answers, hostile ones, who may run it, and what the ledger keeps."""

import builtins
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalenius import Curator, table
from dalenius.core.neighbours import Neighbours
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DaleniusError, NotAllowed, ParameterError, Unsupported
from dalenius.measurements.block_totals import BlockTotals
from dalenius.measurements.blocks import runner as _runner
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.blocks.function import OwnFunction
from dalenius.measurements.blocks.runner import Runner

PARTS = [np.arange(11), np.array([7]), np.empty(0, dtype=np.int64)]
# Long enough for a function to do its worst; where an answer is wanted, for a busy machine as well.
SECONDS, LONG = 0.2, 0.5
HAS_FILTER = sys.platform == "linux" and platform.machine() == "x86_64"


def run(
    function: Callable[..., Any], parts: list[np.ndarray] = PARTS, seconds: float = LONG, **more: Any
) -> list[float]:
    return Runner(function=OwnFunction.of(function), **more).run(parts, [0.5], seconds)


def middle(values):  # type: ignore[no-untyped-def]
    return statistics.median(values)


def test_a_function_says_what_it_says_of_each_block_in_the_unit_of_the_values() -> None:
    answers = run(middle)
    assert answers[:2] == [2.5, 3.5] and isnan(answers[2])


def connects(values):  # type: ignore[no-untyped-def]
    import socket

    socket.create_connection(("127.0.0.1", 9)).close()
    return 1.0


def opens_a_socket_below_python(values):  # type: ignore[no-untyped-def]
    import ctypes

    return ctypes.CDLL(None).socket(1, 1, 0)


def writes(values):  # type: ignore[no-untyped-def]
    with open("/tmp/dalenius-hostile", "w") as file:
        file.write(str(values))
    return 1.0


def makes_a_folder(values):  # type: ignore[no-untyped-def]
    import os

    os.mkdir("/tmp/dalenius-hostile")
    return 1.0


def reads_a_file(values):  # type: ignore[no-untyped-def]
    with open("/etc/hostname") as file:
        return len(file.read())


def raises(values):  # type: ignore[no-untyped-def]
    raise RuntimeError(values)


def sleeps(values):  # type: ignore[no-untyped-def]
    import time

    time.sleep(60)
    return 1.0


def computes_for_ever(values):  # type: ignore[no-untyped-def]
    while True:
        pass


def says_not_a_number(values):  # type: ignore[no-untyped-def]
    return float("nan")


def says_too_much(values):  # type: ignore[no-untyped-def]
    return 10**400


def says_words(values):  # type: ignore[no-untyped-def]
    return "3"


def says_nothing(values):  # type: ignore[no-untyped-def]
    pass


def forks(values):  # type: ignore[no-untyped-def]
    import os

    os.fork()
    return 1.0


def starts_a_program(values):  # type: ignore[no-untyped-def]
    import os

    return os.system("true")


def kills_its_parent(values):  # type: ignore[no-untyped-def]
    import os

    os.kill(os.getppid(), 9)
    return 1.0


def leaves(values):  # type: ignore[no-untyped-def]
    import os

    os._exit(0)


def takes_all_memory(values):  # type: ignore[no-untyped-def]
    return len(bytearray(1 << 40))


def writes_to_whatever_is_open(values):  # type: ignore[no-untyped-def]
    import contextlib
    import os

    for place in range(64):
        with contextlib.suppress(OSError):
            os.write(place, b"more than one number" * 9)
    return 1.0


HOSTILE = [
    connects,
    opens_a_socket_below_python,
    writes,
    makes_a_folder,
    reads_a_file,
    raises,
    sleeps,
    computes_for_ever,
    says_not_a_number,
    says_too_much,
    says_words,
    says_nothing,
    forks,
    starts_a_program,
    kills_its_parent,
    leaves,
    takes_all_memory,
    writes_to_whatever_is_open,
]


@pytest.mark.parametrize("function", HOSTILE, ids=lambda function: function.__name__)
def test_a_hostile_function_has_no_answer_and_takes_its_time(function: Callable[..., Any]) -> None:
    started = time.monotonic()
    (answer,) = run(function, PARTS[:1], SECONDS)
    assert isnan(answer)
    assert SECONDS <= time.monotonic() - started < 20
    assert not Path("/tmp/dalenius-hostile").exists()


def test_a_function_finds_its_channel_in_the_same_place_however_many_files_are_open() -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(80)]
    try:
        assert isnan(run(writes_to_whatever_is_open, PARTS[:1], SECONDS)[0])
    finally:
        for place in held:
            os.close(place)


@pytest.mark.skipif(not HAS_FILTER, reason="calls of the system are filtered on Linux for x86-64")
def test_the_system_refuses_what_python_does_not_announce() -> None:
    def makes_a_pipe(values):  # type: ignore[no-untyped-def]
        import os

        return len(os.pipe())

    assert all(isnan(answer) for answer in run(makes_a_pipe, PARTS[:1]))


def test_no_block_learns_of_another() -> None:
    def counts(values):  # type: ignore[no-untyped-def]
        import builtins

        builtins.calls = getattr(builtins, "calls", 0) + 1
        return builtins.calls

    assert run(counts) == [1.0, 1.0, 1.0] and not hasattr(builtins, "calls")


def test_a_block_takes_the_same_time_whatever_is_done_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lane, four blocks: no stage is heard before its multiple of the fixed time; a busy machine may hear one later."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for function in (middle, sleeps):
        texts, moments = list[str](), list[float]()

        def stage(text: str, to: Any = (texts, moments)) -> None:
            to[0].append(text)
            to[1].append(time.monotonic())

        started = time.monotonic()
        run(function, [PARTS[0]] * 4, SECONDS, stage=stage)
        assert texts == [f"running {function.__name__}: {percent} %" for percent in (25, 50, 75, 100)]
        assert all(moment - started >= SECONDS * number for number, moment in enumerate(moments, 1))


def test_what_the_source_does_not_say_is_refused() -> None:
    outside = 3

    def uses_a_number(values):  # type: ignore[no-untyped-def]
        return outside

    def uses_another(values):  # type: ignore[no-untyped-def]
        return run(values)

    @cache
    def is_decorated(values):  # type: ignore[no-untyped-def]
        return 1.0

    scope: dict[str, Any] = {}
    exec("def typed_in(values):\n    return 1.0", scope)
    for wrong in (lambda values: 1.0, uses_a_number, uses_another, len, print, scope["typed_in"]):
        with pytest.raises(ParameterError):
            OwnFunction.of(wrong)
    with pytest.raises(ParameterError, match="decorators"):
        OwnFunction.of(is_decorated.__wrapped__)
    other = OwnFunction.of(middle)
    assert other.digest.startswith("middle sha256:") and other.source.startswith("import statistics")
    assert replace(other, source=other.source + "\n").digest != other.digest


DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p"},
    "variables": {
        "x": {"bounds": [0, 100], "step": 1, "missing": 0},
        "y": {"bounds": [0, 10], "step": "0.5", "missing": 0},
    },
}
ROWS = {"x": list(range(100)) * 2, "y": [5.0] * 200}


def opened(folder: Path, name: str = "ledger.sqlite") -> Curator:
    curator = Curator.open(ROWS, DATASET, ledger=folder / name, policy={"budget": {"rho": 100}})
    curator.register()
    return curator


def asked(digest: str, **more: Any) -> Any:
    usual: dict[str, Any] = {"clip": [0, 100], "blocks": 6, "seconds": "0.05", "epsilon": 8}
    return table(measure="sample_and_aggregate", of="x", model="function", function=digest, **usual | more)


def test_a_custodian_releases_by_a_function_and_the_ledger_keeps_its_digest(tmp_path: Path) -> None:
    stages: list[str] = []
    with opened(tmp_path) as curator:
        digest = curator.function(middle)
        request = asked(digest)
        plan = curator.plan(request)
        release = curator.release(request, stage=stages.append)
        entries = json.dumps([dict(entry.body) for entry in curator.ledger.reader.entries()], default=str)
    assert digest in entries and plan.preview["records"] == 6
    assert release.tables[0].name == "middle of x" and abs(float(release.tables[0].values[0]) - 50) < 60
    assert any("own" in warning for warning in release.provenance.warnings)
    assert "running middle: 100 %" in stages
    with Curator.open(ROWS, DATASET, ledger=tmp_path / "ledger.sqlite", policy={"budget": {"rho": 100}}) as again:
        # What was published is answered for ever, also where nobody knows the function any more.
        assert again.release(request).tables[0].values == release.tables[0].values
        with pytest.raises(NotAllowed):
            again.plan(request)


def test_a_request_alone_brings_no_function(tmp_path: Path) -> None:
    digest = OwnFunction.of(middle).digest
    with opened(tmp_path) as curator:
        before = curator.left
        for ask in (curator.plan, curator.release, curator.quote):
            with pytest.raises(NotAllowed, match="only the custodian's own program"):
                ask(asked(digest))
        assert curator.left == before


def test_a_hostile_function_is_released_as_the_middle(tmp_path: Path) -> None:
    def released(function: Callable[..., Any]) -> Release:
        with Curator.open(
            ROWS,
            DATASET | {"dataset": {"name": "d", "population": "p", "public": True}},
            ledger=tmp_path / f"{function.__name__}.sqlite",
            policy={"budget": {"rho": 100}},
            rng=RecordedRandomness("hostile"),
        ) as curator:
            curator.register()
            return curator.release(asked(curator.function(function), error="noise"))

    def says_the_middle(values):  # type: ignore[no-untyped-def]
        return 50

    expected = released(says_the_middle).tables[0].values
    assert released(raises).tables[0].values == expected
    assert released(sleeps).tables[0].values == expected


def test_several_variables_are_given_as_records(tmp_path: Path) -> None:
    def slope(records):  # type: ignore[no-untyped-def]
        return sum(y for _, y in records) / len(records)

    with opened(tmp_path) as curator:
        release = curator.release(asked(curator.function(slope), predictors=["y"], error="noise", seconds=LONG))
    # Noise of scale 100 / 48.
    assert abs(float(release.tables[0].values[0]) - 5) < 40


@pytest.mark.parametrize("wrong", [{"function": None}, {"blocks": None}, {"seconds": 0}, {"seconds": 61}])
def test_a_function_without_what_it_needs_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with opened(tmp_path) as curator:
        keys = {
            "measure": "sample_and_aggregate",
            "of": "x",
            "model": "function",
            "function": curator.function(middle),
            "clip": [0, 100],
            "blocks": 6,
        } | wrong
        named = {key: value for key, value in keys.items() if value is not None}
        with pytest.raises(DaleniusError):
            curator.plan({"table": named, "privacy": {"definition": "pure", "epsilon": 8}})


def test_one_record_moves_one_block_by_no_more_than_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that says one end or the other, by one record: through a request, all records in one block."""

    def says_an_end(values):  # type: ignore[no-untyped-def]
        return 1e9 if 77 in values else -1e9

    def loss() -> float:
        with opened(tmp_path) as curator:
            request = asked(curator.function(says_an_end), error="noise", blocks=2, seconds=LONG)
            step = curator.plan(request).measurements[0]
            assert isinstance(step, BlockTotals)
            given = step.with_functions({step.functions[0]: OwnFunction.of(says_an_end)}, lambda _: None)
        totals = [
            given.totals(given.blocks.reports(np.array(values), np.zeros(2, dtype=np.int64)).numbers)[0]
            for values in ([1, 77], [1, 78])
        ]
        return abs(totals[0] - totals[1]) * float(Fraction(step.mechanism.parameters["rate"]))

    assert 7.9 < loss() <= 8 + 1e-9
    right = BlockTotals.sensitivity

    def halved(width: int, multiples: tuple[int, int], neighbours: Neighbours, weight: int = 0) -> Sensitivity:
        return right(width // 2, multiples, neighbours, weight // 2)

    monkeypatch.setattr(BlockTotals, "sensitivity", staticmethod(halved))
    assert loss() > 15


def test_blocks_without_whoever_runs_the_function_report_the_middle() -> None:
    blocks = Blocks(model="function", count=2, lower=Fraction(0), upper=Fraction(1), function="middle sha256:0")
    assert blocks.points([blocks.estimate(np.array([1]))])[0] == blocks.width // 2


def test_the_program_of_the_blocks_needs_nothing_but_python() -> None:
    """It is started by its path in an interpreter that knows no folder of ours, and ends where it is told nothing."""
    done = subprocess.run([sys.executable, "-I", "-S", _runner._program()], input=b"", capture_output=True, check=False)
    assert done.returncode == 1 and b"EOFError" in done.stderr and b"ImportError" not in done.stderr


@pytest.mark.skipif(not HAS_FILTER, reason="functions run on Linux for x86-64 alone")
def test_records_that_cannot_be_sealed_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without seals refuses the plan; what was opened for it is closed again."""
    import fcntl

    def refuse(*_: object) -> int:
        raise OSError(1, "Operation not permitted")

    runner = Runner(function=OwnFunction.of(middle))
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as without:
        without.setattr(fcntl, "fcntl", refuse)
        with pytest.raises(Unsupported, match="does not start"):
            runner.check()
    assert len(os.listdir("/proc/self/fd")) == before
