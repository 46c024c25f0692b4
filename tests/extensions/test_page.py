"""docs/how-to/add-an-extension.md, word for word: files are written, and commands run where `pip` installs into a folder."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.test_pages import ROOT, blocks_of
from tests.extensions.building import SAMPLE, UV

PAGE = ROOT / "docs" / "how-to" / "add-an-extension.md"
# `pip install ./office-statistics`, without a network and beside the environment of the tests.
PIP = """#!/bin/sh
test "$1" = install
"{uv}" build -q --offline --no-cache --wheel --no-config --python "{python}" -o wheels "$2"
"{uv}" pip install -q --offline --no-cache --no-deps --python "{python}" --target "{target}" wheels/*.whl
"""
DALENIUS = '#!/bin/sh\nexec "{python}" -m dalenius.cli.main "$@"\n'


def test_the_page_runs(tmp_path: Path) -> None:
    programs, target = tmp_path / "bin", tmp_path / "installed"
    programs.mkdir()
    for name, text in (("pip", PIP), ("dalenius", DALENIUS)):
        (programs / name).write_text(text.format(uv=UV, python=sys.executable, target=target))
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(target), *(p for p in sys.path if p)]),
    }

    def shell(script: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    shell("dalenius demo --json > /dev/null")
    output = ""
    for block in blocks_of(PAGE):
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
        else:
            assert block.language == "sh", block
            output += shell(block.text)
    assert "passes its kit" in output and "Thousands of records by" in output
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "office-statistics/tests"]
    shell(" ".join([sys.executable, *tests]))


def test_the_page_shows_the_sample() -> None:
    blocks = {block.file: block.text for block in blocks_of(PAGE)}
    place = "src/office_statistics/thousands.py"
    assert blocks[f"office-statistics/{place}"] == (SAMPLE / place).read_text()
