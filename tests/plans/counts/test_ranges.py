"""Counts for ranges, by request: least error, exact errors of any range from the release, and refusals before anything is spent."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.core.domain import Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.inference.contrast import difference, total
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATIONS, worst_ratio

AGES = tuple(f"{k:02}" for k in range(24))
COLUMNS = {"age": [AGES[k * k % 24] for k in range(300)], "sex": ["fm"[k % 2] for k in range(300)]}
RHO = {"definition": "zero_concentrated", "rho": "1/2"}


def world(relation: Relation = Relation.ADD_REMOVE) -> Domain:
    variables = {
        "age": Variable(name="age", domain=Categories(labels=AGES, missing="00", unseen="00")),
        "sex": Variable(name="sex", domain=Categories(labels=("f", "m"), missing="f", unseen="f")),
    }
    return Domain(
        name="ranges",
        population="ranges",
        version="1",
        variables=variables,
        neighbours=Neighbours(relation=relation),
        is_public=True,
    )


def asked(ranges: Any, privacy: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    return {"table": {"rows": ["age"], "columns": ["sex"], "ranges": ranges, **table}, "privacy": privacy or RHO}


def source(domain: Domain) -> MemorySource:
    return MemorySource(domain, COLUMNS, b"ranges")


@pytest.mark.parametrize(
    ("ranges", "privacy"),
    [
        ({"age": "all"}, RHO),
        ({"age": "prefixes"}, {"definition": "pure", "epsilon": 1}),
        ({"age": 5}, RHO),
        ({"age": [["03", "09"], ["10", "23"]]}, RHO),
        ([{"age": ["03", "09"]}, {"age": ["02", "20"], "sex": ["m", "m"]}], RHO),
        ({"age": "all"}, {"definition": "approximate", "epsilon": 1, "delta": 1e-6}),
    ],
    ids=str,
)
def test_ranges_are_planned_at_the_least_error(ranges: Any, privacy: dict[str, Any]) -> None:
    for relation in Relation:
        plan = plan_of(world(relation), asked(ranges, privacy))
        errors = {}
        for option in plan.preview["alternatives"]:
            errors[option["strategy"]] = min(option["rmse"], errors.get(option["strategy"], np.inf))
        assert set(errors) == {"identity", "hierarchical", "ranges"}
        assert plan.preview["range_std_error"] == min(errors.values())
        if privacy is RHO and relation is Relation.ADD_REMOVE:
            assert plan.strategy == "ranges"


@pytest.mark.parametrize("strategy", ["hierarchical", "ranges"])
@pytest.mark.parametrize(
    "privacy", [{"definition": "pure", "epsilon": 1}, RHO], ids=lambda privacy: privacy["definition"]
)
def test_no_neighbour_sees_more_than_guaranteed_and_charged(privacy: dict[str, Any], strategy: str) -> None:
    """Also where a row is replaced by one that a condition or a missing value keeps out of the table."""
    request = {
        "table": {"rows": ["g"], "ranges": {"g": [["a", "c"]]}, "where": {"x": {"at_least": 0}}},
        "privacy": privacy | {"strategy": strategy},
    }
    for neighbours in RELATIONS:
        assert 0.6 < worst_ratio(request, neighbours, most=1) <= 1 + 1e-9


def test_errors_of_ranges_follow_from_the_release_and_are_those_of_recorded_noise() -> None:
    """400 releases of three ranges, a complement and a difference: mean squared standardised errors are 1 within four standard errors."""
    domain = replace(world(), structural_zeros=({"age": ("00", "01"), "sex": ("m",)},))
    plan, rows = plan_of(domain, asked({"age": "all"})), source(domain)
    release = release_of(plan, domain, COLUMNS, {}, "ranges")
    questions = (
        total(release, {"age": "03..17", "sex": "f"}),
        total(release, {"age": ["00", "05..08"]}),
        total(release, {"age": "00..02", "sex": "m"}),
        difference(release, {}, {"age": "03..17"}),
        difference(release, {"age": "00..11"}, {"age": "12..23"}),
    )
    masks = np.zeros((5, 24, 2))
    masks[0, 3:18, 0] = masks[1, [0, 5, 6, 7, 8]] = masks[2, :3, 1] = masks[3] = masks[4, :12] = 1
    masks[3, 3:18], masks[4, 12:] = 0, -1
    exact = rows.table(plan.measurements[0].needs[0]).open_below_the_gate().astype(float)  # type: ignore[arg-type]
    exact[list(release.tables[0].space.structural_indices)] = 0
    squares = []
    for number in range(400):
        drawn = gate.run(plan, rows, plan.neighbours, plan.reservation, RecordedRandomness(f"ranges {number}"))
        (table,) = plan.assemble(drawn.blocks)
        assert table.values[[1, 3]].tolist() == [0, 0]
        sums = masks.reshape(5, -1) @ (table.values - exact)
        squares.append(sums**2 / np.array([question.std_error**2 for question in questions]))
    assert (np.abs(np.mean(squares, axis=0) - 1) < 4 * np.sqrt(2 / 400)).all()
    np.testing.assert_allclose(
        masks.reshape(5, -1) @ release.tables[0].values, [question.value for question in questions]
    )


def test_a_single_cell_under_epsilon_is_covered_as_one_draw_of_laplace_noise() -> None:
    """Cells by themselves: 95 % of a Laplace draw lie within log(20) / sqrt(2) standard errors, not within 1.96."""
    domain = world()
    plan = plan_of(domain, asked({"age": "all"}, {"definition": "pure", "epsilon": 1, "strategy": "identity"}))
    answer = total(release_of(plan, domain, COLUMNS, {}, "one"), {"age": "03", "sex": "m"})
    assert answer.interval is not None
    upper = (answer.interval.upper - answer.value) / answer.std_error
    assert upper == pytest.approx(np.log(20) / np.sqrt(2), rel=1e-6)


def test_a_list_of_ranges_is_one_question_in_any_order() -> None:
    one, two = (
        RequestDocument.from_dict(asked({"age": pairs}))
        for pairs in ([["03", "09"], ["00", "05"]], [["00", "05"], ["03", "09"]])
    )
    assert one.table.keys == two.table.keys
    boxes = [{"age": ["03", "09"], "sex": ["f", "f"]}, {"age": ["00", "05"]}]
    one, two = (RequestDocument.from_dict(asked(b)) for b in (boxes, boxes[::-1]))
    assert one.table.keys == two.table.keys
    assert RequestDocument.from_dict(one.to_dict()) == one


@pytest.mark.parametrize(
    "request_",
    [
        asked({"height": "all"}),
        asked({"age": "some"}),
        asked({"age": 25}),
        asked({"age": 0}),
        asked({"age": [["09", "03"]]}),
        asked({"age": [["09", "ninety"]]}),
        asked({}),
        asked([]),
        asked([{}]),
        asked({"age": "all"}, margins="all"),
        asked({"age": "all"}, RHO | {"strategy": "tree"}),
        asked({"age": "all"}, RHO | {"mechanism": "discrete_laplace"}),
        asked({"age": "all"}, refine={"half": 4}),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        plan_of(world(), request_)
