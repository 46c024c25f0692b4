"""After the charge nothing fails a release: what cannot be written or shown is told, and asked for again for free."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.errors import DaleniusError, StorageError, Undelivered

RUNNER = CliRunner()
DATASET = """
[dataset]
name = "staff"
population = "staff"
source = "table-9-staff.csv"
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table-9-staff.csv").write_text("sex\nm\nf\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    done = RUNNER.invoke(app, ["register", str(tmp_path / "dataset.toml"), "--ledger", str(tmp_path / "l.sqlite")])
    assert done.exit_code == 0
    return tmp_path


def release(folder: Path, *further: object) -> list[str]:
    return ["release", str(folder / "request.toml"), "--ledger", str(folder / "l.sqlite"), *map(str, further)]


def charges(folder: Path) -> int:
    done = RUNNER.invoke(app, ["ledger", "show", "--ledger", str(folder / "l.sqlite"), "--json"])
    return sum(line["kind"] == "charge" for line in json.loads(done.stdout)["lines"])


def released(folder: Path) -> dict[str, object]:
    done = RUNNER.invoke(app, release(folder, "--json"), catch_exceptions=False)
    return json.loads(done.stdout)


def run(folder: Path, *further: object, before: str = "", **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{before}\nfrom dalenius.cli.main import run; run()", *release(folder, *further)]
    environment = os.environ | {"COLUMNS": "1000"}
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
    return subprocess.run(command, text=True, env=environment, check=False, **settings)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["out_0.5", "v1.2", "plain", "a/b/c", "x.JSON", "y.Csv", "z.htm"])
def test_a_release_is_written_to_any_directory_or_file_of_a_known_kind(folder: Path, name: str) -> None:
    done = RUNNER.invoke(app, release(folder, "-o", folder / name), catch_exceptions=False)
    assert done.exit_code == 0
    place = folder / name
    assert place.is_file() if name[0] in "xyz" else (place / "table.html").is_file()


@pytest.mark.parametrize(
    "name", ["out.ods", "request.toml", "request.toml/x", ".", "n" * 300, "taken", "staff.csv/out"]
)
def test_a_place_that_cannot_be_written_is_refused_before_the_charge(folder: Path, name: str) -> None:
    (folder / "taken").write_text("a file")
    (folder / "staff.csv").write_text("a file")
    done = RUNNER.invoke(app, release(folder, "-o", folder / name))
    assert isinstance(done.exception, DaleniusError) and not isinstance(done.exception, Undelivered)
    assert charges(folder) == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a file system that takes no files, not even from root")
def test_a_file_system_that_takes_no_files_is_refused_before_the_charge(folder: Path) -> None:
    done = RUNNER.invoke(app, release(folder, "-o", "/proc/out"))
    assert isinstance(done.exception, StorageError) and charges(folder) == 0
    assert "Nothing was charged" in done.exception.message


def test_a_disk_that_fills_up_after_the_charge_is_no_failed_release(folder: Path) -> None:
    full = (
        "import errno, os, dalenius.publish._format as files\n"
        "def write(path, content): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "files._write = write\n"
    )
    done = run(folder, "-o", folder / "out", before=full)
    assert done.returncode == 5 and done.stderr.startswith("undelivered: ")
    assert "stored in the ledger" in done.stderr and "No space left on device" in done.stderr
    assert "free" in done.stderr and "Traceback" not in done.stderr
    # What could be shown is shown all the same.
    assert "± 95%" in done.stdout
    assert charges(folder) == 1
    again = run(folder, "-o", folder / "out")
    assert again.returncode == 0 and charges(folder) == 1
    assert json.loads((folder / "out" / "release.json").read_text()) == released(folder)


def test_a_limit_on_files_that_the_ledger_fits_in_is_told_after_the_charge(folder: Path) -> None:
    """A real refusal of the machine: the page is larger than a file may be."""
    wide = (
        "import dataclasses, dalenius.publish.to_html as page\n"
        "page.HTML = dataclasses.replace(page.HTML, write=lambda release: b'x' * (1 << 24))\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 23, 1 << 23))

    done = run(folder, "-o", folder / "out.html", "--json", before=wide, preexec_fn=limit)
    told = json.loads(done.stderr)["error"]
    assert done.returncode == 5 and told["code"] == "undelivered" and told["detail"]["entry"]
    assert json.loads(done.stdout) == released(folder) and charges(folder) == 1
    assert not list(folder.glob(".out.html*")) and not (folder / "out.html").exists()


def test_a_reader_who_leaves_early_does_not_fail_the_release(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run(folder, "-o", folder / "out", stdout=write)
    os.close(write)
    assert done.returncode == 5 and "printing: Broken pipe" in done.stderr and "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert (folder / "out" / "release.json").exists() and charges(folder) == 1


def test_a_fault_in_printing_does_not_fail_the_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("the label of a cell")

    monkeypatch.setattr("dalenius.cli.tables.print_table", fails)
    done = RUNNER.invoke(app, release(folder))
    assert isinstance(done.exception, Undelivered) and done.exception.exit_code == 5
    assert "a fault of ours (ValueError)" in done.exception.message
    assert "label of a cell" not in done.exception.message and charges(folder) == 1


def test_the_files_that_are_named_are_the_files_that_are_there(folder: Path) -> None:
    text = (REQUEST).replace('rows = ["sex"]', 'rows = ["sex"]\nmargins = "all"\nuniverse = "complete"')
    (folder / "request.toml").write_text(text)
    done = run(folder, "-o", folder / "out")
    line = next(line for line in done.stdout.splitlines() if line.startswith("Written to"))
    named = line.split(": ", 1)[1].rstrip(".").split(", ")
    assert sorted(named) == sorted(path.name for path in (folder / "out").iterdir())
