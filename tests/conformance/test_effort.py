"""Every method and strategy: a large request is planned or refused within a second of processor time and 256 MB.

`make verify` holds every case to the second. Here some of them may take three, so that no busy machine fails.
"""

from time import process_time, sleep

import pytest
from verify import _large_requests as large_requests
from verify._usage import usage_of

from dalenius import limits
from dalenius.core import registry

# Every example on the plain declaration, and so many parts of all other cases.
EVERY = 7
SECONDS = 3 * large_requests.SECONDS


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    large_requests.warm()


@pytest.mark.parametrize("name", registry.names("methods"))
def test_large_requests_of_a_method_take_little(name: str) -> None:
    for number, case in enumerate(large_requests.cases(registry.get("methods", name))):
        is_example = case.people == "rows" and "," not in case.name
        if is_example or number % EVERY == 0:
            large_requests.check(case, SECONDS)


def test_large_lists_of_margins_take_little_with_every_strategy() -> None:
    for case in list(large_requests.strategy_cases())[::EVERY]:
        large_requests.check(case, SECONDS)


@pytest.mark.parametrize("what", ["time", "memory", "fault"])
def test_the_kit_catches_a_plan_that_takes_too_much(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    method = registry.get("methods", "count")

    def wasteful(_: object) -> None:
        if what == "fault":
            raise ValueError("nobody expected this")
        if what == "memory":
            _ = bytearray(300 << 20)
        else:
            start = process_time()
            while process_time() < start + 0.5:
                pass

    monkeypatch.setattr(method, "plan", staticmethod(wasteful))
    with pytest.raises(AssertionError, match="Usage"):
        large_requests.check(next(large_requests.cases(method)), seconds=0.4)


def test_matrix_work_is_counted_before_it_is_done() -> None:
    with pytest.raises(limits.Exhausted), limits.limited(10):
        limits.spend_products(1e12)
    with limits.limited(10):
        limits.spend_products(9 * limits.PRODUCTS)


def test_what_is_measured_is_the_process_and_not_the_clock() -> None:
    assert usage_of(lambda: sleep(0.2)).seconds < 0.1
