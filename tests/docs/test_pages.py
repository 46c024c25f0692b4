"""Every code block of README.md and of every page of docs/ is run, in page order, in one folder a page.

sh, python     run as they stand, after `make demo`: the folder holds `dalenius-demo/`, and `.venv/bin` the commands (`dalenius`
               itself is forked from a process that has imported it, see commands.py)
toml, json     read as strictly as the documents they are; `toml NAME` is also written to that file (the next block of the name
               is added to it), so that later blocks of the page use it
sql            statements for a database server; a page with them is run where there is one (`ELSEWHERE`)
text           illustrations: synopses, drawings, configuration of other programs, commands on a site of its own

A block without a language fails. What a page takes for granted ("your data") is made by `GIVEN`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.docs.commands import commands

from dalenius.curator.curator import Curator
from dalenius.demo import farms, survey
from dalenius.exact import perturbation
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.server.config import ServerConfig
from dalenius.spec.load import load_any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("sh", "python", "toml", "json", "sql", "text")
_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
# The environment and the demo exist already, and a page must not run these tests or wait for a server.
_MAKE = '#!/bin/sh\ncase "$1" in demo) test -d dalenius-demo ;; test | serve) ;; *) exit 2 ;; esac\n'


def _survey_file(folder: Path) -> None:
    rows = [
        {
            "person_id": k // 2,
            "region": ["01", "02", "03", "77"][k % 4],
            "age_group": ["15-64", "65+"][k % 2],
            "status": ["single", "married", "widowed", "divorced"][k % 4],
            "income": 1000 * k,
        }
        for k in range(60)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "lfs_2024q1.parquet")
    (folder / "regions.csv").write_text("code,label\n01,North\n02,South\n03,West\n99,Unknown\n")
    (folder / "regions_levels.csv").write_text("code,half\nNorth,upper\nWest,upper\nSouth,lower\nUnknown,unknown\n")


def _survey_demo(folder: Path, persons: int = 4_000) -> None:
    """What `dalenius demo --survey` leaves, with fewer persons and without its releases."""
    place = folder / "dalenius-survey"
    for document in (*survey.materialise(place, persons), farms.materialise(place)):
        with Curator.open(document) as curator:
            curator.register(by="demo custodian")


def _members(folder: Path) -> None:
    rows = ["town,sex,arrears,dues"]
    for k in range(60):
        town, sex = ["Ayton", "Beeton", "Ceeton"][k % 3], ["female", "male"][k % 2]
        rows.append(f"{town},{sex},{['no', 'no', 'yes'][k % 7 % 3]},{100 + k}")
    (folder / "members.csv").write_text("\n".join(rows) + "\n")


def _perturbation_table(folder: Path) -> None:
    kernel = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 3), 5)
    (folder / "ptable.csv").write_text(perturbation.to_text(kernel))


# What pages take for granted: the reader's own files.
GIVEN: dict[str, Callable[[Path], None]] = {
    "docs/tutorials/1-first-table.md": _survey_demo,
    "docs/tutorials/2-a-geography.md": _survey_demo,
    "docs/tutorials/3-means-and-medians.md": _survey_demo,
    "docs/tutorials/4-weights-and-waves.md": partial(_survey_demo, persons=survey.PERSONS),
    "docs/tutorials/5-compare.md": _survey_demo,
    "docs/how-to/describe-your-data.md": _survey_file,
    "docs/how-to/ask-for-more-than-counts.md": _survey_demo,
    "docs/how-to/count-long-lists-samples-and-keyed-lists.md": _survey_demo,
    "docs/how-to/look-at-your-own-data.md": _survey_demo,
    "docs/how-to/margins.md": _survey_demo,
    "docs/how-to/release-under-a-weaker-guarantee.md": _survey_demo,
    "docs/how-to/leave-out-public-attributes.md": _members,
    "docs/reference/measurements/perturbation_table.md": _perturbation_table,
}


@dataclass(frozen=True)
class Block:
    """A code block, where it stands, and the file that it is written to."""

    page: str
    line: int
    language: str
    file: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    text, name, found = page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)), []
    for match in _FENCE.finditer(text):
        language, _, file = match[2].strip().partition(" ")
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(name, line, language, file.strip(), dedent(match[3])))
    return found


BLOCKS = {str(page.relative_to(ROOT)): blocks for page in PAGES if (blocks := blocks_of(page))}
# Pages that need a server or an installation, and the tests that bring it and run them word for word.
ELSEWHERE = {
    "docs/how-to/add-an-extension.md": "tests/extensions/test_page.py",
    "docs/how-to/keep-data-in-postgresql.md": "tests/engines/test_postgresql.py",
    "docs/how-to/count-with-spark.md": "tests/engines/test_spark.py",
}
RUN = [name for name, blocks in BLOCKS.items() if name not in ELSEWHERE and any(b.language != "text" for b in blocks)]


def test_every_block_says_what_it_is() -> None:
    unclear = [str(b) for blocks in BLOCKS.values() for b in blocks if b.language not in LANGUAGES]
    assert not unclear
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(page)), page


def test_a_page_that_needs_a_server_is_run_by_a_test_that_starts_one() -> None:
    for name, blocks in BLOCKS.items():
        assert name in ELSEWHERE or all(block.language != "sql" for block in blocks), name
    for name, test in ELSEWHERE.items():
        assert Path(name).name in (ROOT / test).read_text(), name


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder as `make demo` leaves it; from then on `dalenius` is a fork of a process that has imported it."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / ".bin").mkdir()
    _program(folder, "make", _MAKE)
    _shell(folder, "dalenius demo --json > /dev/null")
    with commands(tmp_path_factory.mktemp("door"), _environment(folder)) as text:
        _program(folder, "dalenius", text)
        yield folder


def _program(folder: Path, name: str, text: str) -> None:
    (folder / ".bin" / name).write_text(text)
    (folder / ".bin" / name).chmod(0o755)


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(folder / ".bin"), str(folder / ".venv" / "bin"), os.environ["PATH"]])
    others = {name: value for name, value in os.environ.items() if not name.startswith("DALENIUS_")}
    return others | {"PATH": path, "COLUMNS": "100"}


def _run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-euo", "pipefail", "-c", script]
    environment = _environment(folder)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def _shell(folder: Path, script: str) -> None:
    done = _run(folder, script)
    assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("dalenius plan dalenius-demo/request.toml --json | tail -n 1", 0),
        ("echo '{' | dalenius check -", 2),
        ("cd dalenius-demo && dalenius show nowhere.json", 2),
    ],
)
def test_a_forked_command_says_and_returns_what_the_command_does(clone: Path, script: str, code: int) -> None:
    forked, real = _run(clone, script), _run(clone, f'PATH="{clone}/.venv/bin:$PATH"; {script}')
    assert (forked.returncode, forked.stdout, forked.stderr) == (real.returncode, real.stdout, real.stderr)
    assert forked.returncode == code


def _document(folder: Path, block: Block, is_written: set[str], later: list[Block]) -> None:
    """Write a named document, and read it as strictly as its use would once its last block is written."""
    text = block.text
    if block.file:
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (path.read_text() + "\n" if block.file in is_written else "") + text
        path.write_text(text)
        is_written.add(block.file)
        if any(other.file == block.file for other in later):
            return
        if path.name == "server.toml":
            ServerConfig.load(path)
            return
    if block.language == "json":
        json.loads(text)
    else:
        load_any(folder / block.file if block.file else text)


@pytest.mark.parametrize("name", RUN)
def test_every_block_of_the_page_runs(name: str, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clone"
    shutil.copytree(clone, folder, symlinks=True)
    monkeypatch.chdir(folder)
    if prepare := GIVEN.get(name):
        prepare(folder)
    space: dict[str, object] = {"__name__": "page"}
    written: set[str] = set()
    for number, block in enumerate(BLOCKS[name], start=1):
        try:
            match block.language:
                case "sh":
                    _shell(folder, block.text)
                case "python":
                    exec(compile(block.text, str(block), "exec"), space)
                case "toml" | "json":
                    _document(folder, block, written, BLOCKS[name][number:])
        except Exception as error:
            raise AssertionError(f"{block}: {type(error).__name__}: {error}") from error
