"""Settings that all tests share, and the order that keeps two workers busy to the end."""

import gc
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# Two workers with two threads of linear algebra each wait for one another: small products then take several times as long.
assert "numpy" not in sys.modules or "OPENBLAS_NUM_THREADS" in os.environ, (
    "NumPy was imported before its threads were set"
)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("test", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("DALENIUS_HYPOTHESIS", "test"))

# Seconds of each test that takes longer than SHORT, as the last run with --record-durations measured them.
DURATIONS = Path(__file__).with_name("durations.json")
SHORT = 0.2
# What a test that is not listed is taken to last.
UNLISTED = 0.02


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("durations")
    group.addoption("--record-durations", action="store_true", help="keep the duration of every longer test")
    group.addoption("--within", type=float, metavar="SECONDS", help="leave out the longest tests until the rest fits")


def _recorded() -> dict[str, float]:
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}


class _Recorder:
    """Adds up what setup, call and teardown of each test took."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Files that were not run keep what was recorded of them, files that are gone do not."""
        run = {name.partition("::")[0] for name in self._seconds}
        root = DURATIONS.parent.parent
        kept = {
            name: seconds
            for name, seconds in _recorded().items()
            if (file := name.partition("::")[0]) not in run and (root / file).exists()
        }
        longer = {name: round(seconds, 1) for name, seconds in self._seconds.items() if seconds > SHORT}
        DURATIONS.write_text(json.dumps(kept | longer, indent=0, sort_keys=True) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder())


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
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, so that two workers end together; within a file the order stays."""
    recorded = _recorded()
    lasting = [recorded.get(item.nodeid, UNLISTED) for item in items]
    if (limit := config.getoption("--within", None)) is not None:
        within = set(_shortest(lasting, limit))
        config.hook.pytest_deselected(items=[item for place, item in enumerate(items) if place not in within])
        items[:] = [item for place, item in enumerate(items) if place in within]
        lasting = [recorded.get(item.nodeid, UNLISTED) for item in items]
    files: dict[Path, float] = defaultdict(float)
    for item, seconds in zip(items, lasting, strict=True):
        files[item.path] += seconds
    items.sort(key=lambda item: -files[item.path])


def _shortest(lasting: Sequence[float], limit: float) -> Iterator[int]:
    """The places of the shortest that last at most `limit` together."""
    spent = 0.0
    for place in sorted(range(len(lasting)), key=lasting.__getitem__):
        spent += lasting[place]
        if spent > limit:
            return
        yield place


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[object]:
    """Examples in docstrings are looked for in the sources, not in files of tests."""
    collectors = yield
    return [each for each in collectors if not isinstance(each, DoctestModule)]
