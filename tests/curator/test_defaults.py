"""A part of `verify/defaults.py`: keys that change the error alone make no interval clearly shorter, and a wrong default is found."""

from pathlib import Path
from typing import Any

import pytest
from verify import defaults
from verify.defaults import EXCEPTIONS, PLACES, Data, compared, exception_for, keys_of, values_of, verdict

from dalenius.core.contracts import Mechanism
from dalenius.curator.planner import Planner


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data.of(PLACES[0], Path(tmp_path_factory.mktemp("survey")))


def requests(data: Data, measure: str, **keys: Any) -> list[defaults.Request]:
    found = [request for request in data.requests if request["table"]["measure"] == measure]
    return [request for request in found if keys.items() <= {**request["table"], **request["privacy"]}.items()]


def test_keys_and_values_come_from_the_models_of_requests() -> None:
    known = keys_of("median")
    assert {"error", "mechanism", "in_cells_of", "strategy"} <= {*known} and "margins" not in known
    assert "discrete_gaussian" in values_of("mechanism", known["mechanism"][1], {"table": {}})
    assert {"noise", "sampling"} <= {*values_of("error", known["error"][1], {"table": {}})}
    listed = {"table": {"margins": [["a"], []]}}
    assert values_of("weights", keys_of("count")["weights"][1], listed) == [[4, 1], [1, 4]]


def test_defaults_of_counts_are_as_short_as_any(survey: Data) -> None:
    asked = [
        *requests(survey, "ratio", epsilon=2),
        *requests(survey, "count", epsilon=1)[:1],
        *requests(survey, "persons"),
    ]
    found = [made for request in asked for made in compared(survey, request, releases=5)]
    assert len({str(made.request) for made in found}) >= 3
    assert verdict(found)["ok"], verdict(found)["shorter than the default"]


def test_a_default_that_is_too_wide_is_found(survey: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wider noise is taken wherever a request names none."""
    right = Planner.choose

    def wrong(self: Planner, definition: Any, relation: Any, named: Any, *others: Any) -> Mechanism:
        return right(self, definition, relation, named or "discrete_laplace", *others)

    monkeypatch.setattr(Planner, "choose", wrong)
    (request,) = requests(survey, "persons", rho="1/4")
    found = list(compared(survey, request, releases=5))
    lost = verdict(found)["shorter than the default"]
    assert [line["keys"] for line in lost] == ["mechanism = discrete_gaussian"] and lost[0]["width"] < 0.9


def test_exceptions_are_few_and_hold_only_where_they_say(survey: Data) -> None:
    assert len(EXCEPTIONS) <= defaults.MOST_EXCEPTIONS and len({each.reason for each in EXCEPTIONS}) == len(EXCEPTIONS)
    request: defaults.Request = {"table": {"measure": "mean"}, "privacy": {}}

    def reason(noise: float, sampling: float, **keys: Any) -> str:
        ratios = {("mean", "noise"): noise, ("mean", "sampling"): sampling}
        return exception_for(defaults.Comparison(file="f", request=request, keys=keys, ratios=ratios))

    assert reason(0.9, 1.1, in_cells_of=20) and not reason(0.9, 0.99, in_cells_of=20)
    assert not reason(0.9, 1.1, mechanism="discrete_laplace") and not reason(0.9, 1.1, in_cells_of=20, score="depth")
