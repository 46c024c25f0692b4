"""Every format the registry finds: names its files, leaves nothing out, and reads back where it can be read."""

from pathlib import Path

import pytest

from dalenius.core import registry
from dalenius.testing import format_kit


@pytest.mark.parametrize("name", registry.names("publish"))
def test_a_format_leaves_nothing_out(name: str, tmp_path: Path) -> None:
    format_kit.check(registry.get("publish", name), tmp_path)
