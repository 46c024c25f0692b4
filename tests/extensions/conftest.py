"""The sample distribution of the examples, built once and installed where only the tests here look."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.extensions.building import SAMPLE, build, importable, install


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(SAMPLE, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def target(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install(wheel, folder)
    return folder


@pytest.fixture
def office(target: Path) -> Iterator[Path]:
    with importable(target):
        yield target
