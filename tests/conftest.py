"""Settings that all tests share, and the order that keeps two workers busy to the end."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# Two workers with two threads of linear algebra each wait for one another: small products then take several times as long.
assert "numpy" not in sys.modules or "OPENBLAS_NUM_THREADS" in os.environ, (
    "NumPy was imported before its threads were set"
)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile(
    "test", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("DALENIUS_HYPOTHESIS", "test"))

# Files of long tests go first, the longest at the top: a worker that takes one last works while the other has ended.
LONG = (
    "tests/engines/test_spark.py",
    "tests/docs/test_pages.py",
    "tests/server/browser/test_journeys.py",
    "tests/server/browser/test_accessibility.py",
    "tests/ledger/test_concurrency.py",
    "tests/server/api/test_live.py",
    "tests/server/api/test_rules_as_analyst.py",
    "tests/server/browser/",
    "tests/redteam/",
    "tests/end_to_end/",
    "tests/engines/",
    "tests/server/",
    "tests/ledger/",
    "tests/testing/",
    "tests/conformance/",
    "tests/curator/",
    "tests/vectors/",
    "tests/reproduce/",
    "tests/methods/",
    "tests/measurements/",
)


def _turn(item: pytest.Item) -> int:
    return next((number for number, start in enumerate(LONG) if item.nodeid.startswith(start)), len(LONG))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Thousands of items are made and none is dropped: looking for garbage among them, then or later, is lost time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Modules that look at the end for what was never freed find everything again."""
    gc.unfreeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; within a file, and among the others, the order stays."""
    items.sort(key=_turn)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[object]:
    """Examples in docstrings are looked for in the sources, not in files of tests."""
    collectors = yield
    return [each for each in collectors if not isinstance(each, DoctestModule)]
