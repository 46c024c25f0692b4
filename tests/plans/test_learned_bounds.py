"""Means with learned bounds through request documents: the loss over tiny neighbours, exactly; what is told; what is refused."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log
from typing import Any

import numpy as np
import pytest
from tests.measurements.derived_laws import stated
from verify._recorded import release_of

from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.core.release import Block
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.measurements.grid_selection import GridSelection
from dalenius.plans.learned_bounds import CutSums
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

PURE = {"definition": "pure", "epsilon": 2}


def domain(relation: str, size: int | None = None, missing: object = 0) -> Any:
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True} | ({"size": size} if size else {}),
            "unit": {"relation": relation},
            "variables": {
                "x": {"bounds": [0, 6], "step": 1, "missing": missing},
                "g": {"categories": ["a", "b"], "missing": "a", "unseen": "a"},
            },
        }
    ).domain()


def asked(privacy: Any = PURE, **more: Any) -> dict[str, Any]:
    table = {"measure": "mean", "of": "x", "error": "sampling", "learn": "1/2", "clip": [0, 2, 3, 5]}
    return {"table": table | {"beyond": "1/4"} | more, "privacy": privacy}


def contents(here: Any, step: Any, rows: tuple[Any, ...]) -> list[np.ndarray]:
    source = MemorySource(here, {"x": [x for x, _ in rows], "g": [g for _, g in rows]}, b"x")
    return [source.table(query).open_below_the_gate() for query in step.needs]


def losses(here: Any, plan: Any, one: tuple[Any, ...], other: tuple[Any, ...]) -> float:
    """The largest log ratio of all outcomes: both places with their exact chances, then Laplace noise at the shift of the sums."""
    first, *sums = plan.measurements
    assert isinstance(first, GridSelection)
    laws = [stated(first, contents(here, first, rows)[0]) for rows in (one, other)]
    worst = 0.0
    for places, p in laws[0].items():
        q = laws[1][places]
        chosen = Block(name=first.name, space=CellSpace(()), values=np.array(places), law=first.law)
        loss = abs(log(p / q))
        for step in sums:
            statistic = plan.then(step, (chosen,)).statistic
            here_sum, there = (statistic.combine(contents(here, statistic, rows)) for rows in (one, other))
            loss += float(step.mechanism.rate) * float(np.abs(here_sum - there).sum())
        worst = max(worst, loss)
    return worst


ROWS = [(0, "a"), (6, "a"), (3, "b"), (5, "b")]


@pytest.mark.parametrize("more", [{}, {"bound_clipped": True}, {"error": "noise"}, {"rows": ["g"]}], ids=str)
def test_tiny_neighbours_lose_at_most_epsilon_and_more_than_half(more: dict[str, Any]) -> None:
    worst = {}
    for relation in ("add-remove", "replace"):
        here = domain(relation, size=2 if relation == "replace" else None)
        plan = plan_of(here, asked(**more), {})
        if relation == "replace":
            pairs = [((common, a), (common, b)) for common in ROWS for a in ROWS for b in ROWS if a != b]
        else:
            pairs = [
                (rows, (*rows, a)) for n in range(3) for rows in combinations_with_replacement(ROWS, n) for a in ROWS
            ]
        worst[relation] = max(losses(here, plan, *pair) for pair in pairs)
    assert max(worst.values()) <= 2 + 1e-9 and min(worst.values()) > 1.0


def released(relation: str = "add-remove", n: int = 4000, seed: str = "c", **more: Any) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(8)
    values = rng.choice([1, 2, 3, 6], n, p=[0.3, 0.4, 0.29, 0.01])
    here = domain(relation, size=n)
    request = asked({"definition": "zero_concentrated", "rho": 1}, **more)
    columns = {"x": values.tolist(), "g": ["a"] * n}
    return release_of(plan_of(here, request, {}), here, columns, request, seed), values


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_interval_is_for_the_clipped_mean_and_the_bounds_are_told(relation: str) -> None:
    release, values = released(relation)
    low, high = next(table.values for table in release.tables if table.measure == "bound")
    assert (low, high) == (0, 3) or (low, high) == (2, 3)
    clipped = float(np.clip(values, low, high).mean())
    lower, upper = (float(end) for end in release.interval(0.95))
    assert lower <= clipped <= upper and upper - lower < 0.05
    sampled = [float(end) for end in release.interval(0.95, with_sampling=True)]
    assert sampled[0] < lower and upper < sampled[1]


def test_counted_rows_outside_make_the_interval_one_for_the_mean_between_the_declared_bounds() -> None:
    held = 0
    for seed in range(20):
        release, values = released(seed=str(seed), bound_clipped=True)
        lower, upper = (float(end) for end in release.interval(0.95))
        held += lower <= float(values.mean()) <= upper
    assert held == 20


def test_what_was_chosen_narrower_has_less_noise() -> None:
    wide, _ = released(clip=[0, 6])
    narrow, _ = released()
    assert narrow.tables[0].std_error[0] < 0.75 * wide.tables[0].std_error[0]


@pytest.mark.parametrize(
    "more",
    [
        {"clip": [1]},
        {"clip": ["0.5", 2]},
        {"clip": [0, 9]},
        {"learn": 0},
        {"learn": 1},
        {"beyond": "1/2"},
        {"margins": "all", "rows": ["g"]},
        {"weight": "x"},
    ],
    ids=str,
)
def test_what_cannot_be_learned_is_refused_before_anything_is_read(more: dict[str, Any]) -> None:
    request = asked(**more)
    request["table"] = {key: value for key, value in request["table"].items() if value is not None}
    with pytest.raises(DaleniusError):
        plan_of(domain("add-remove"), request, {"allow": {"acknowledge": ["fixed_weights"]}})


def test_candidates_without_learn_are_refused() -> None:
    request = asked()
    del request["table"]["learn"]
    with pytest.raises(DaleniusError):
        plan_of(domain("add-remove"), request, {})


def test_one_question_has_one_spelling() -> None:
    from dalenius.spec.request import RequestDocument

    one, other = (
        RequestDocument.from_dict(asked(clip=given, beyond=share))
        for given, share in (([0, "2.0", 5], "1/100"), (["0", 2, "5"], "0.01"))
    )
    assert one.table.keys == other.table.keys and "beyond" not in one.table.keys
    assert Fraction(str(one.table.keys["clip"][1])) == 2  # type: ignore[index]


@pytest.mark.parametrize("kind", ["totals", "total", "squares", "clipped"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 3])
def test_sums_between_narrower_bounds_never_move_further_and_nearly_as_far(
    kind: str, relation: Relation, rows: int
) -> None:
    neighbours = Neighbours(relation=relation, max_rows=rows, unit="person")
    query, factor = TableQuery(space=CellSpace(())), 64 if kind != "clipped" else 1
    widest = CutSums(query=query, variable="x", low=-7, high=13, kind=kind, factor=factor)
    most = widest.statistic.sensitivity(neighbours)
    for low, high in product(range(-7, 13), range(-6, 14)):
        if low < high:
            moved = widest.to(low, high).statistic.sensitivity(neighbours)
            assert moved.l1 <= most.l1 and moved.l2_squared <= most.l2_squared and moved.linf <= most.linf
            if most.patterns is not None and moved.patterns is not None:
                assert all(any(_dominates(wide, own) for wide in most.patterns) for own in moved.patterns)
            if kind in ("totals", "total"):
                assert moved.l1 >= most.l1 * 63 / 64


def _dominates(wide: tuple[int, ...], own: tuple[int, ...]) -> bool:
    return len(own) <= len(wide) and all(a <= b for a, b in zip(own, wide, strict=False))


@pytest.mark.parametrize("amount", [{"rho": "1/100"}, {"epsilon": "1/2"}])
@pytest.mark.parametrize("error", ["sampling", "noise"])
def test_a_mean_offers_learned_bounds_with_the_errors_that_they_have(amount: dict[str, str], error: str) -> None:
    """By three positions of the upper tail; candidates follow from the declared bounds where none are named."""
    document = {
        "dataset": {"name": "d", "population": "p"},
        "design": {"draws": "independent"},
        "variables": {"x": {"bounds": [0, 500_000], "step": 10}},
    }
    here, table = load_dataset(document).domain(), {"measure": "mean", "of": "x", "error": error}
    offered = plan_of(here, {"table": table, "privacy": amount}).preview["by_upper_tail_with_learned_bounds"]
    learned = plan_of(here, {"table": {**table, "learn": "1/5"}, "privacy": amount}).preview["by_upper_tail"]
    assert [part["upper_tail"] for part in learned] == ["1", "1/10", "1/100"]
    margins = [[part["half_width_95"] for part in each] for each in (offered, learned)]
    assert margins[0] == pytest.approx(margins[1], rel=0.1)
