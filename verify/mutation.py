"""Mutation testing of the gate, the ledger, the exact samplers and the sensitivities: wrong lines that fast tests must notice.

The list is `mutants.toml`. Each mutant is made in a copy of the tree and met by the tests named for it. Claim: at least nine in
ten are killed, and the list explains every survivor.
"""

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEAST_KILLED = 0.9
SECONDS = 300
SOURCES = ("src", "lab/src")
# No test of the list needs a plugin but that of the settings, and loading all of them takes longer than the tests.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Mutant:
    """One wrong line, and the tests that must notice it."""

    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    why_harmless: str = ""

    @property
    def name(self) -> str:
        """Where it is and what it says."""
        return f"{self.path}: {' '.join(self.new.split())}"


def mutants() -> list[Mutant]:
    """The fixed list; a text that is not there exactly once is an error."""
    document = tomllib.loads((ROOT / "verify" / "mutants.toml").read_text())
    listed = []
    for path, lines in document["mutants"].items():
        content = (ROOT / "src" / "dalenius" / path).read_text()
        for old, new, group, *why in lines:
            if content.count(old) != 1:
                raise ValueError(f"{path} holds {content.count(old)} times: {old}")
            listed.append(Mutant(path, old, new, tuple(document["tests"][group]), *why))
    return listed


def is_killed(mutant: Mutant | None, tests: tuple[str, ...], copy: Path) -> bool:
    """Whether the tests fail in a copy of the tree with this mutant (None: as it is)."""
    place = copy / "src" / "dalenius" / (mutant.path if mutant else "version.py")
    before = place.read_text()
    if mutant is not None:
        place.write_text(before.replace(mutant.old, mutant.new))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "pytest_timeout", *tests],
            cwd=copy,
            env={**os.environ, **ALONE, "PYTHONPATH": os.pathsep.join(str(copy / part) for part in SOURCES)},
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_text(before)


def run(quick: bool = False) -> dict[str, Any]:
    """Every mutant of the list; `quick` takes every tenth."""
    listed = mutants()[:: 10 if quick else 1]
    killed, survivors, failing = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "lab", "tests", "docs", "verify"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        # Compiled once; the one file that differs is compiled anew, because its digest does.
        compileall.compile_dir(copy / "src", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for tests in sorted({mutant.tests for mutant in listed}):
            failing += [tests] if is_killed(None, tests, copy) else []
        for mutant in listed:
            if is_killed(mutant, mutant.tests, copy):
                killed += 1
            else:
                survivors.append(mutant)
    unexplained = [m.name for m in survivors if not m.why_harmless]
    return {
        "ok": not failing and not unexplained and killed >= LEAST_KILLED * len(listed),
        "mutants": len(listed),
        "killed": killed,
        "survivors": {m.name: m.why_harmless or "not explained" for m in survivors},
        "tests_that_fail_without_a_mutant": failing,
    }
