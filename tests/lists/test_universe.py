"""A table from a stored list counts the records that a direct request counts, or it is refused: exhaustive on toy data.

Both are released with so much budget that the noise is zero, so that every difference is one of records. Run time: about ten
seconds; the one random number generator has a fixed seed.
"""

import random
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.spec.rearranged import rearranged

from dalenius.core.law import Joint
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Provenance, Release
from dalenius.curator.planner import Planner
from dalenius.engines.memory import MemorySource
from dalenius.errors import OtherRows
from dalenius.lists.tables import answer_from_list
from dalenius.publish.to_json import from_json, write_json
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.spec.policy import PolicyDocument
from dalenius.testing.toy import toy_domain

DOMAIN = toy_domain(missing="west")
PLANNER = Planner(domain=DOMAIN, policy=PolicyDocument())
AGES = {"variable": "age", "cuts": [0, 30, 60, 100]}
UPPER = {"variable": "region", "categories": ["north", "east"]}
ONE_HALF = {"variable": "region", "groups": {"upper": ["north", "east"]}}
HALVES = {"variable": "region", "level": "half"}


def _source(*, has_impossible: bool) -> MemorySource:
    """Four hundred rows with missing and unseen values, ages outside the bounds, and perhaps impossible widowed men."""
    rng = random.Random(11)
    columns: dict[str, list[object]] = {
        "sex": rng.choices(["female", "male", None, "x"], [8, 8, 2, 1], k=400),
        "region": rng.choices(["north", "east", "south", "west", None, "sea"], k=400),
        "status": rng.choices(["1", "2", "3", None], k=400),
        "age": rng.choices([*range(0, 101, 7), None, 120], k=400),
        "income": rng.choices([0, 12.5, None, 5000], k=400),
    }
    if not has_impossible:
        pairs = zip(columns["sex"], columns["status"], strict=True)
        columns["status"] = ["1" if pair == ("male", "3") else pair[1] for pair in pairs]
    return MemorySource(DOMAIN, columns)


AS_DECLARED, WITH_IMPOSSIBLE = _source(has_impossible=False), _source(has_impossible=True)


def released(table: dict[str, Any], source: MemorySource = WITH_IMPOSSIBLE) -> Release:
    """A table without noise, read back from its document."""
    document = load_request({"table": table, "privacy": {"definition": "pure", "epsilon": 1000}})
    form, plan = canonical(document, DOMAIN), PLANNER.plan_stored(document)
    rng, blocks = RecordedRandomness("rows"), []
    for step in plan.measurements:
        exact = tuple(source.table(query) for query in step.needs)  # type: ignore[arg-type]
        block = step.block(step.run(exact, step.draw(rng), rng))
        assert block is not None
        blocks.append(block)
    provenance = Provenance(
        dataset="toy", population="toys", version="1", definition="pure", budget={}, neighbours={}, cost={}, mechanism="",
        strategy="", evidence={}, software="", request=form.content, digest=form.digest,
    )  # fmt: skip
    tables = plan.assemble(tuple(blocks))
    made = Release(blocks=tuple(blocks), tables=tables, law=plan.law, provenance=provenance)
    return from_json(write_json(made))


def answered(stored: Release, table: dict[str, Any]) -> Release | None:
    document = load_request({"table": table, "privacy": {"definition": "pure", "epsilon": 1}})
    space, filters = document.space(DOMAIN), document.filters(DOMAIN)
    return answer_from_list(stored, space, filters, DOMAIN, document.margins(DOMAIN))


LISTS: dict[str, dict[str, Any]] = {
    "margins": {"rows": ["sex", "region", AGES], "margins": "all"},
    "levels": {"rows": ["sex", "region"], "margins": [["sex", "region"], ["sex", "region.half"], ["region"]]},
    "subset": {"rows": ["sex", UPPER], "margins": "all"},
    "subset with levels": {"rows": ["sex", UPPER], "margins": [["sex", "region.half"], ["region.half"]]},
    "zeros": {"rows": ["sex", "status", "region"], "margins": "all"},
    "zeros not shown": {"rows": ["sex", "status", "region"], "margins": [["sex", "region"], ["status"]]},
    "plain": {"rows": ["region", AGES]},
    "plain with zeros": {"rows": ["sex", "status", "region"]},
    "condition": {"rows": ["region", AGES], "where": {"sex": "female"}, "margins": "all"},
    "complete": {"rows": ["region", {"variable": "income", "cuts": [-50, 0, 10, 1000]}], "margins": "all"},
}
LONGER = {"variable": "age", "cuts": [0, 60, 100]}
ITEMS: list[Any] = ["sex", "status", "region", HALVES, UPPER, ONE_HALF, AGES, LONGER]
CONDITIONS: list[dict[str, Any]] = [
    {},
    {"sex": "female"},
    {"sex": ["female", "male"]},
    {"sex": ["female", "male"], "age": {"at_least": 0, "at_most": 100}},
    {"region": ["north", "east"], "status": ["1", "2"]},
    {"region": ["east", "south"]},
    {"age": {"at_least": 30}, "sex": "female"},
    {"status": ["1", "2", "3"], "sex": ["male", "female"]},
    {"status": "3"},
]


def _name(item: Any) -> str:
    return item if isinstance(item, str) else item["variable"]


def requests() -> list[dict[str, Any]]:
    """Up to two axes of different variables, every condition, with and without margins; and three axes."""
    axes = [c for n in range(3) for c in combinations(ITEMS, n) if len({_name(i) for i in c}) == n]
    axes += [("sex", "status", "region"), ("region", AGES, "sex"), ("status", "region", "sex")]
    found = [{"rows": list(a), "where": w} for a in axes for w in CONDITIONS]
    found += [{**table, "margins": "all"} for table in found if table["rows"]]
    return [
        *found,
        {"rows": ["sex", "region", AGES], "margins": [["region"], ["sex"]]},
        {"rows": ["region", "sex"], "margins": [["region.half"], ["region.half", "sex"]]},
        {"rows": ["sex", "status", "region"], "margins": [["sex", "region"], ["status"]]},
    ]


@cache
def _direct(number: int, source: MemorySource) -> Release:
    return released(requests()[number], source)


def _knows_zeros(release: Release) -> bool:
    """Whether least squares moved other cells so that impossible ones are 0: where rows lie in these no cell counts rows."""
    return isinstance(release.law, Joint) and bool(release.law.parameters.get("zeros"))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        *(pytest.param(name, AS_DECLARED, id=name) for name in LISTS),
        # What the list of zeros itself shows of such rows is tested below.
        *(pytest.param(name, WITH_IMPOSSIBLE, id=f"{name}, impossible rows") for name in LISTS if name != "zeros"),
    ],
)
def test_an_answer_counts_the_records_of_a_direct_request(name: str, source: MemorySource) -> None:
    stored = released(LISTS[name], source)
    free, refused = 0, 0
    for number, table in enumerate(requests()):
        try:
            found = answered(stored, table)
        except OtherRows as error:
            refused += 1
            if "where" in error.detail:
                stated = {**table, "where": {**table.get("where", {}), **error.detail["where"]}}  # type: ignore[dict-item]
                try:
                    assert answered(stored, stated) is not None, (table, stated)
                except OtherRows as further:
                    assert "structural_zeros" in further.detail, (table, stated)
            continue
        if found is None:
            continue
        free += 1
        direct = _direct(number, source)
        assert len(found.tables) == len(direct.tables)
        if source is WITH_IMPOSSIBLE and _knows_zeros(direct):
            continue
        for mine in found.tables:
            names = {axis.name for axis in mine.space.axes}
            other = next(t for t in direct.tables if {a.name for a in t.space.axes} == names)
            expected = rearranged(other.values, other.space, mine.space)
            assert np.abs(mine.values - expected).max() < 1e-6, (table, mine.name)
            zero = list(mine.space.structural_indices)
            assert not mine.values[zero].any() and not mine.variance[zero].any()
    assert free >= 5
    assert refused >= (0 if name == "complete" else 3)


def test_the_refusal_says_which_conditions_help() -> None:
    stored = released(LISTS["margins"])
    with pytest.raises(OtherRows) as caught:
        answered(stored, {"rows": ["region"]})
    assert caught.value.code == "other_rows"
    assert caught.value.detail["where"] == {"sex": ["female", "male"], "age": {"at_least": "0", "at_most": "100"}}
    assert "missing" in caught.value.message


def test_a_list_with_structural_zeros_is_not_served_for_a_table_without_them() -> None:
    """Widowed men are impossible, so the list counts none; a table of the widowed alone counts who is in the data."""
    stored = released(LISTS["zeros"])
    with pytest.raises(OtherRows) as caught:
        answered(stored, {"rows": ["status", "region"], "where": {"sex": ["female", "male"]}})
    assert caught.value.detail["structural_zeros"] is True
    found = answered(stored, {"rows": ["status", "region"], "where": {"sex": "female"}})
    assert found is not None
    men = answered(stored, {"rows": ["status"], "where": {"sex": "male"}})
    assert men is not None and men.table.values[2] == 0


def test_rows_that_contradict_a_list_leave_its_tables_consistent() -> None:
    """Least squares knows that there are no widowed men: they are shown as 0, and every table is the sum of the finest."""
    stored = released(LISTS["zeros"], WITH_IMPOSSIBLE)
    assert _knows_zeros(stored)
    finest = max(stored.tables, key=lambda table: table.space.size)
    cells = finest.values.reshape(finest.space.shape)
    impossible = list(finest.space.structural_indices)
    assert len(impossible) == 4 and not finest.values[impossible].any() and not finest.variance[impossible].any()
    names = [axis.name for axis in finest.space.axes]
    for table in stored.tables:
        own = {axis.name for axis in table.space.axes}
        over = tuple(k for k, name in enumerate(names) if name not in own)
        assert table.values == pytest.approx(cells.sum(axis=over).ravel(), abs=1e-6)


def test_values_that_the_list_does_not_hold_are_not_counted_as_if_it_did() -> None:
    stored = released(LISTS["subset"])
    assert answered(stored, {"rows": ["sex"], "where": {"region": ["east", "south"]}}) is None
    assert answered(stored, {"rows": ["sex"], "where": {"region": "east"}}) is not None
    levels = released(LISTS["subset with levels"])
    assert answered(levels, {"rows": [HALVES, "sex"]}) is None


def test_an_answer_says_what_it_is_of() -> None:
    """Readers, and whatever compares releases, must see the conditions of the answer and not those of the list."""
    found = answered(released(LISTS["margins"]), {"rows": ["region", AGES], "where": {"sex": "female"}})
    assert found is not None and isinstance(found.law, Joint)
    assert found.provenance.request["where"] == [{"variable": "sex", "categories": ["female"]}]
    assert [axis["variable"] for axis in found.provenance.request["axes"]] == ["region", "age"]
    assert found.provenance.warnings == ()
