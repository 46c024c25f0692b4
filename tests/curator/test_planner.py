"""What the planner makes of a request: the best mechanism, the policy's rules, medians, weights, learned bounds."""

from pathlib import Path

import numpy as np
import pytest

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.curator import Curator
from dalenius.curator.planner import Planner
from dalenius.definitions.approximate import Approximate
from dalenius.errors import DaleniusError, NotAllowed, TooLarge
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.spec.load import load_dataset, load_policy, load_request
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "a": {"categories": ["x", "y"]},
        "n": {"bounds": [0, 100], "step": 1},
        "w": {"weight": True, "bounds": [1, 5], "step": "0.5"},
    },
}
ROWS = {
    "a": ["x"] * 300 + ["y"] * 200,
    "n": [30 + i % 5 for i in range(300)] + [70 + i % 3 for i in range(200)],
    "w": [2.0] * 500,
}


def plan(table: dict[str, object], privacy: dict[str, object], policy: dict[str, object] | None = None) -> object:
    planner = Planner(domain=load_dataset(DATASET).domain(), policy=load_policy(policy or {}))
    return planner.plan(load_request({"table": table, "privacy": privacy}))


def release(tmp_path: Path, table: dict[str, object], privacy: dict[str, object], policy: dict[str, object]) -> object:
    rng = RecordedRandomness(11)
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=rng, policy=policy) as curator:
        curator.register()
        return curator.release({"table": table, "privacy": privacy})


PURE = {"definition": "pure", "epsilon": 1}
APPROXIMATE = {"definition": "approximate", "epsilon": 1, "delta": "1e-6"}
CONCENTRATED = {"definition": "zero_concentrated", "rho": "0.5"}


def test_wide_sums_are_halved_so_that_their_noise_can_be_drawn() -> None:
    document = {
        "dataset": {"name": "hours", "population": "hours"},
        "unit": {"id": "person", "max_rows": 4},
        "variables": {"hours": {"bounds": [0, 1_000_000], "step": 1}},
    }
    request = {"table": {"measure": "variance", "of": "hours"}, "privacy": {"definition": "pure", "epsilon": 1}}
    domain = load_dataset(document).domain()
    assert plan_of(domain, request).error > 0
    assert plan_of(domain, {**request, "table": {**request["table"], "error": "noise"}}).error > 0


def test_the_best_mechanism_is_chosen_from_the_request_alone() -> None:
    assert plan({"rows": ["a"]}, PURE).mechanism == "discrete_laplace"
    assert plan({"rows": ["a"]}, CONCENTRATED).mechanism == "discrete_gaussian"
    best = plan({"rows": ["a"]}, APPROXIMATE)
    for name in ("discrete_laplace", "discrete_gaussian", "truncated_laplace"):
        named = plan({"rows": ["a"]}, APPROXIMATE | {"mechanism": name})
        assert best.preview["std_error"] <= named.preview["std_error"] + 1e-12


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_plain_count_of_persons_with_several_rows_is_planned_under_small_amounts(relation: str) -> None:
    unit = {"id": "i", "max_rows": 4, "relation": relation}
    labels = {"categories": [f"c{k}" for k in range(12)]}
    dataset = {**DATASET, "unit": unit, "variables": {"a": labels}}
    domain = load_dataset(dataset).domain()
    for definition in ("approximate", "probabilistic"):
        amounts = {"definition": definition, "epsilon": "0.1", "delta": "1e-9"}
        best = plan_of(domain, {"table": {"rows": ["a"]}, "privacy": amounts})
        assert best.mechanism in ("discrete_laplace", "truncated_laplace")


@pytest.mark.parametrize(
    ("epsilon", "delta", "move"),
    [("1", "1e-6", (1,)), ("1", "0.01", (4,)), ("0.3", "1e-9", (5, 1)), ("8", "1e-6", (100,)), ("1", "1/3", (30, 30))],
)
def test_normal_noise_needs_at_least_the_variance_that_is_known_beforehand(
    epsilon: str, delta: str, move: tuple[int, ...]
) -> None:
    budget, moved = Budget.of("approximate", epsilon=epsilon, delta=delta), Sensitivity.of_patterns((move,))
    found = calibrate(DiscreteGaussian, moved, Relation.ADD_REMOVE, Approximate(), budget)
    bound = DiscreteGaussian.least_variance(moved, budget)
    assert bound <= found.variance
    assert len(move) > 1 or bound == 0 or bound > 0.85 * found.variance


def test_what_is_not_calibrated_would_not_have_been_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [
        ({"rows": rows}, {"definition": definition, "epsilon": epsilon, "delta": delta})
        for rows in ([], ["a"])
        for definition in ("approximate", "probabilistic")
        for epsilon in ("0.2", "1", "6")
        for delta in ("1e-9", "0.01")
    ]
    chosen = [plan(*request).law for request in requests]
    monkeypatch.setattr(DiscreteGaussian, "least_variance", staticmethod(lambda *_: 0.0))
    assert chosen == [plan(*request).law for request in requests]


def test_a_pure_budget_is_spent_to_the_last_bit() -> None:
    assert plan({"rows": ["a"]}, PURE).reservation.epsilon == 1


def test_truncation_of_the_policy_is_applied_or_refused() -> None:
    rules = {"table": {"truncation": 20}}
    made = plan({"rows": ["a"]}, APPROXIMATE, rules)
    assert made.mechanism == "truncated_laplace" and made.law.noise.limit == 20
    with pytest.raises(NotAllowed):
        plan({"rows": ["a"]}, APPROXIMATE, {"table": {"truncation": 3}})


def test_a_variance_cap_refuses_before_data_are_read() -> None:
    with pytest.raises(NotAllowed):
        plan({"rows": ["a"]}, {"definition": "pure", "epsilon": "0.1"}, {"table": {"variance_cap": 5}})


def test_the_policy_limits_cells_and_definitions() -> None:
    with pytest.raises(TooLarge):
        plan({"rows": ["a"]}, PURE, {"allow": {"most_cells": 1}})
    with pytest.raises(NotAllowed):
        plan({"rows": ["a"]}, PURE, {"allow": {"definitions": ["zero_concentrated"]}})
    with pytest.raises(DaleniusError):
        plan({"rows": ["a"]}, {"definition": "bootstrap", "epsilon": 1})


def test_medians_by_cell(tmp_path: Path) -> None:
    made = release(tmp_path, {"rows": ["a"], "measure": "median", "of": "n"}, PURE, {})
    assert np.abs(made.table.values - [32, 71]).max() <= 2
    assert made.table.measure == "median" and (made.table.std_error > 0).all()
    lower, upper = made.interval(0.95)
    assert (lower <= made.table.values).all() and (made.table.values <= upper).all()


def test_medians_under_rho_stay_within_it() -> None:
    made = plan({"rows": ["a"], "measure": "median", "of": "n"}, CONCENTRATED)
    assert 0.49 < float(made.reservation.rho) <= 0.5


def test_weighted_counts_need_weights_that_are_declared_fixed(tmp_path: Path) -> None:
    table = {"rows": ["a"], "weight": "w"}
    with pytest.raises(DaleniusError):
        plan(table, PURE)
    made = release(
        tmp_path,
        table,
        {"definition": "pure", "epsilon": 5},
        {"allow": {"acknowledge": ["fixed_weights"]}, "budget": {"rho": 9}},
    )
    assert np.abs(made.table.values - [600, 400]).max() < 40


def test_learned_bounds(tmp_path: Path) -> None:
    table = {"rows": ["a"], "measure": "total", "of": "n", "learn": "0.2"}
    made = release(tmp_path, table, {"definition": "pure", "epsilon": 4}, {"budget": {"rho": 9}})
    exact = np.array([sum(ROWS["n"][:300]), sum(ROWS["n"][300:])])
    assert np.abs(made.table.values - exact).max() < 1500


def test_margins_of_totals_count_every_record() -> None:
    asked = {"rows": ["a"], "measure": "total", "of": "n", "margins": "all"}
    assert repr(plan(asked, PURE).measurements) == repr(plan({**asked, "universe": "own"}, PURE).measurements)


def test_three_way_margins_of_ten_variables_are_planned_from_a_document() -> None:
    """The cross has 10^10 cells and is never tabulated; its 120 three-way margins are."""
    from itertools import combinations

    names = [f"v{i}" for i in range(10)]
    dataset = {
        "dataset": {"name": "wide", "population": "p"},
        "variables": {name: {"categories": [str(c) for c in range(10)]} for name in names},
    }
    planner = Planner(domain=load_dataset(dataset).domain(), policy=load_policy({}))
    table = {"rows": names, "margins": [list(three) for three in combinations(names, 3)], "universe": "complete"}
    made = planner.plan(load_request({"table": table, "privacy": CONCENTRATED}))
    assert made.strategy == "residual"
    with pytest.raises(TooLarge):
        planner.plan(load_request({"table": {"rows": names}, "privacy": CONCENTRATED}))


def test_utility_is_for_the_custodian_only(tmp_path: Path) -> None:
    asked = {"table": {"rows": ["a"]}, "privacy": PURE}
    rng = RecordedRandomness(5)
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=rng) as curator:
        curator.register()
        report = curator.inspection.compare(asked, curator.release(asked))
        assert any(e.kind == "note" for e in curator.ledger.reader.entries())
    assert str(report).startswith("CONFIDENTIAL")
    assert report.reveal()
