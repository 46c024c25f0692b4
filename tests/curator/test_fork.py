"""A fork with an open curator: the child ends as it likes, and the parent goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from dalenius.curator.curator import Curator

place, mode = sys.argv[1:]
document = {
    "dataset": {"name": "d", "population": "p", "source": place + "/rows.csv"},
    "variables": {"sex": {"categories": ["f", "m"]}},
}
curator = Curator.open(document, ledger=place + "/ledger.sqlite")
curator.register()
def ask(epsilon):
    return curator.release({"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": epsilon}})
ask("0.1")
child = os.fork()
if child == 0:
    if mode == "close":
        curator.close()
    elif mode in ("release", "read"):
        try:
            ask("0.2") if mode == "release" else curator.source.judge()
        except Exception as error:
            sys.exit(0 if "forked process" in str(error) else 3)
        sys.exit(4)
    sys.exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
ask("0.3")
sys.exit(status if curator.ledger.reader.verify().is_ok else 5)
"""


@pytest.mark.parametrize("mode", ["exit", "close", "release", "read"])
def test_a_child_with_an_open_curator_does_not_crash(tmp_path: Path, mode: str) -> None:
    (tmp_path / "rows.csv").write_text("sex\n" + "f\nm\n" * 1000)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), mode], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
