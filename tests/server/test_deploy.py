"""The files for deployment name what exists, and the example configuration is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dalenius.server.config import ServerConfig

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def test_the_example_configuration_is_read() -> None:
    config = ServerConfig.load(DEPLOY / "server.example.toml")
    assert config.public_url.startswith("https://") and config.secure_cookies


def test_the_container_copies_what_exists_and_installs_locked_versions() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = [name for line in re.findall(r"(?m)^COPY (?!--)(.*) \S+$", text) for name in line.split()]
    assert "requirements.lock" in copied and all((ROOT / name).exists() for name in copied)
    program = re.search(r"awk '([^']+)' requirements.lock", text)
    assert program is not None
    command = ["awk", program.group(1), str(ROOT / "requirements.lock")]
    versions = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(versions) > 50
    for line in versions:
        assert re.fullmatch(r"[A-Za-z0-9._-]+(\[\w+\])?==[^ \\]+( ; [^\\]+)?", line), line


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_accepted(tmp_path: Path) -> None:
    unit = (DEPLOY / "dalenius.service").read_text()
    program = re.search(r"(?m)^ExecStart=(\S+)", unit)
    assert program is not None
    place = tmp_path / "dalenius.service"
    place.write_text(unit.replace(program.group(1), "/bin/true"))
    found = subprocess.run(["systemd-analyze", "verify", str(place)], check=False, capture_output=True, text=True)
    assert found.returncode == 0 and not found.stderr.strip(), found.stderr
