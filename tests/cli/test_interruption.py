"""Ctrl+C and SIGTERM: the command says what was charged, lets go of its lease, and the next one goes on at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dalenius.curator.curator import Curator
from dalenius.ledger import Ledger

DATASET = """
[dataset]
name = "staff"
population = "staff"
source = "staff.csv"
[variables.sex]
categories = ["m", "f"]
"""
REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["sex"]
[privacy]
definition = "pure"
epsilon = 1
"""
WAIT = "def wait():\n    print('here', flush=True)\n    time.sleep(60)\n"
# Where the process waits for its signal, and what it must say then.
PLACES = {
    "before the charge": (
        "import dalenius.curator.curator as c\n"
        "old = c.Planner.plan_stored\n"
        "c.Planner.plan_stored = lambda *a: (old(*a), wait())[0]\n",
        "Nothing was charged.",
        0,
    ),
    "while the charge is written": (
        "import dalenius.ledger.writer as w\n"
        "old = w.Writer._anchor\n"
        "def anchor(self, *parts):\n"
        "    old(self, *parts)\n"
        "    w.Writer._anchor = old\n"
        "    wait()\n"
        "w.Writer._anchor = anchor\n",
        "The charge stands (rho 0.462117, delta 0)",
        1,
    ),
    "while it measures": (
        "import dalenius.curator.gate as g\ng._fetch = lambda *_: wait()\n",
        "The charge stands (rho 0.462117, delta 0)",
        1,
    ),
    "after it is stored": (
        "import dalenius.ledger.ledger as l\n"
        "old = l.Ledger.commit\n"
        "l.Ledger.commit = lambda *a, **k: (old(*a, **k), wait())[0]\n",
        "The release is stored in the ledger.",
        1,
    ),
    "while it is shown": (
        "import dalenius.cli.tables as o\no.print_release = lambda *_, **__: wait()\n",
        "The release is stored in the ledger (entry",
        1,
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text("sex\nm\nf\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    with Curator.open(tmp_path / "dataset.toml", ledger=tmp_path / "l.sqlite") as curator:
        curator.register()
    return tmp_path


def charges(folder: Path) -> int:
    with Ledger.open(folder / "l.sqlite") as ledger:
        return sum(entry.kind == "charge" for entry in ledger.reader.entries())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize(("patch", "told", "paid"), PLACES.values(), ids=PLACES)
def test_a_stopped_release_says_what_was_charged_and_leaves_no_lease(
    folder: Path, patch: str, told: str, paid: int, number: signal.Signals
) -> None:
    program = f"import time\n{WAIT}{patch}from dalenius.cli.main import run\nrun()\n"
    command = [sys.executable, "-c", program, "release", str(folder / "request.toml")]
    command += ["--ledger", str(folder / "l.sqlite")]
    environment = os.environ | {"COLUMNS": "1000"}
    process = subprocess.Popen(command, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "here\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    is_shown = "entry" in told
    assert process.returncode == (5 if is_shown else 130), said
    assert told in said and "Traceback" not in said
    assert ("free" in said or "costs nothing more" in said) == bool(paid)
    assert charges(folder) == paid
    # A lease that was left behind would be a conflict here, since nobody waits for it.
    with Ledger.open(folder / "l.sqlite", wait_seconds=0) as ledger:
        with Curator.open(folder / "dataset.toml", ledger=ledger) as curator:
            assert curator.release(folder / "request.toml").tables
        assert ledger.reader.verify().is_ok
    assert charges(folder) == 1


def test_a_library_user_gets_the_interrupt_with_a_note_and_without_the_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with Curator.open(folder / "dataset.toml", ledger=folder / "l.sqlite") as curator:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as caught:
            patched.setattr("dalenius.curator.curator.write_json", stop)
            curator.release(folder / "request.toml")
        assert "The charge stands (rho" in " ".join(caught.value.__notes__)
        frames = [frame.name for frame in caught.traceback]
        assert "_complete" not in frames and caught.value.__context__ is None
        first = curator.release(folder / "request.toml")
        assert json.dumps(first.values.tolist()) and charges(folder) == 1


def test_leaving_the_process_lets_go_of_the_lease_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(3)

    with Curator.open(folder / "dataset.toml", ledger=folder / "l.sqlite") as curator:
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as caught:
            patched.setattr("dalenius.curator.gate._fetch", leave)
            curator.release(folder / "request.toml")
        assert caught.value.code == 3
        assert curator.release(folder / "request.toml").tables and charges(folder) == 1
