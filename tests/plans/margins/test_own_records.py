"""Margins that count their own records: every row has a place on every axis, so that nothing is lost and all tables add up."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.methods.tiny_prices import largest_price
from verify._recorded import release_of

from dalenius.core.domain import Axis
from dalenius.core.neighbours import Relation
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines import memory
from dalenius.engines.memory import MemorySource
from dalenius.errors import DocumentError, Unsupported
from dalenius.lists.tables import answer_from_list
from dalenius.spec.axis import REST
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.universe import universe_of
from dalenius.testing.asking import plan_of

ZCDP = {"definition": "zero_concentrated", "rho": "1/2"}
SILENT = {"definition": "zero_concentrated", "rho": 150}
MARGINS = [["sex", "school", "age"], ["sex", "school"], ["school.kind"], ["age"], ["sex"], []]
TABLE: dict[str, Any] = {
    "rows": ["sex", "school", {"variable": "age", "cuts": [20, 40, 60], "closed": True}],
    "margins": MARGINS,
    "universe": "own",
    "objective": "cells",
}


def dataset(relation: str = "add-remove", **more: Any) -> dict[str, Any]:
    return {
        "dataset": {"name": "d", "population": "p", "public": True, **more},
        "unit": {"relation": relation},
        "variables": {
            "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
            "school": {
                "categories": ["none", "low", "high"],
                "label": "Education",
                "hierarchies": {"kind": {"some": ["low", "high"], "no": ["none"]}},
            },
            "age": {"bounds": [0, 99], "step": 1, "missing": "drop"},
        },
    }


ROWS: dict[str, list[Any]] = {
    "sex": ["f", "m", "m", "f", None, "f", "m", "f"],
    "school": ["low", None, "high", "else", "none", "low", None, "high"],
    "age": [25, 30, None, 70, 20, 59, 60, 0],
}


@pytest.fixture(scope="module")
def domain() -> Any:
    return load_dataset(dataset()).domain()


def shown(plan: Any, domain: Any) -> list[Any]:
    source = MemorySource(domain, ROWS, b"x")
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness("own"))
    return list(plan.assemble(passage.blocks))


@pytest.mark.parametrize("strategy", ["tree", "split", "interior"])
def test_every_margin_counts_its_own_records(domain: Any, strategy: str) -> None:
    plan = plan_of(domain, {"table": TABLE, "privacy": SILENT | {"strategy": strategy}})
    tables = {tuple(a.name for a in t.space.axes): t for t in shown(plan, domain)}
    np.testing.assert_allclose(tables["sex",].values, [5, 3], atol=0.3)
    np.testing.assert_allclose(tables["age",].values, [3, 1, 4], atol=0.3)
    assert tables["age",].space.axes[0].labels == ("[20, 40)", "[40, 60)", REST)
    assert tables["school.kind",].space.axes[0].labels == ("some", "no", REST)
    np.testing.assert_allclose(tables["school.kind",].values, [4, 1, 3], atol=0.3)
    np.testing.assert_allclose(tables[()].values, [8], atol=0.3)


def test_noisy_margins_add_up_with_the_rest(domain: Any) -> None:
    noisy = {tuple(a.name for a in t.space.axes): t.values for t in shown(plan_of(domain, _request()), domain)}
    whole = noisy["sex", "school", "age"].reshape(2, 4, 3)
    np.testing.assert_allclose(whole.sum(axis=(1, 2)), noisy["sex",], atol=1e-8)
    np.testing.assert_allclose(whole.sum(axis=(0, 2))[[1, 2]].sum(), noisy["school.kind",][0], atol=1e-8)
    np.testing.assert_allclose(whole.sum(axis=(0, 2))[3], noisy["school.kind",][2], atol=1e-8)


def _request(**table: Any) -> dict[str, Any]:
    return {"table": TABLE | table, "privacy": ZCDP}


def test_whose_records_are_counted_is_said_in_words(domain: Any) -> None:
    request = load_request(_request())
    said = universe_of(request, domain)
    assert said.sentence({"school": "Education"}) == (
        'Covers every record; those without a shown value of Education and age stand under "other or not stated".'
    )
    assert 'stehen unter "other or not stated"' in said.sentence({}, "de")
    assert plan_of(domain, request).preview["universe"] == said.sentence({"school": "Education"})


def test_the_key_is_part_of_the_question_and_refused_where_nothing_is_lost(domain: Any) -> None:
    own, complete = (canonical(load_request(_request(universe=which)), domain) for which in ("own", "complete"))
    assert own.digest != complete.digest
    assert [axis.get("rest") for axis in own.content["axes"]] == [None, REST, REST]
    with pytest.raises(Unsupported, match="universe"):
        plan_of(domain, _request(rows=["sex"], margins=[["sex"], []]))
    with pytest.raises(Unsupported, match="universe"):
        plan_of(domain, {"table": {"rows": ["school"], "universe": "own"}, "privacy": ZCDP})
    taken = dataset()
    taken["variables"]["school"] = {"categories": ["low", REST]}
    with pytest.raises(DocumentError, match="category"):
        plan_of(load_dataset(taken).domain(), _request(margins=[["sex"], ["school"]]))


def test_where_every_row_has_a_place_the_declared_size_is_public() -> None:
    domain = load_dataset(dataset("replace", size=8)).domain()
    plan = plan_of(domain, _request(rows=["school"], margins=[["school"], []]))
    assert plan.preview["public_total"]
    total = next(t for t in shown(plan, domain) if not t.space.axes)
    assert total.values == pytest.approx(8)
    assert total.variance == pytest.approx(0)


@pytest.mark.parametrize("relation", Relation)
def test_no_tiny_neighbours_cost_more_than_is_charged(relation: Relation) -> None:
    """Every pair of records, missing, unseen and outside values included, through the engine and all that is measured."""
    domain = load_dataset(dataset(relation.value)).domain()
    asked = _request(rows=["sex", "school"], margins=[["sex", "school"], ["school.kind"], ["sex"], []])
    rows = [{"sex": s, "school": c, "age": 1} for s, c in product(["f", "m"], ["low", "high", None, "?"])]
    plan = plan_of(domain, asked)
    assert largest_price(plan, domain, rows) <= float(plan.budget.rho) * (1 + 1e-9)


def test_a_row_that_is_counted_twice_is_found(monkeypatch: pytest.MonkeyPatch, domain: Any) -> None:
    """The same check on an engine that counts a row without a value under the rest, and under the first label too."""
    right = MemorySource.table

    def wrong(source: MemorySource, query: TableQuery) -> Any:
        sealed = right(source, query)
        again = MemorySource(source.domain, {n: [v or "low" for v in c] for n, c in source._columns.items()}, b"x")
        sealed.open_below_the_gate()[...] += right(again, query).open_below_the_gate()
        return sealed

    asked = _request(rows=["sex", "school"], margins=[["sex", "school"], ["sex"], []])
    rows = [{"sex": "f", "school": c, "age": 1} for c in ("low", None)]
    monkeypatch.setattr(MemorySource, "table", wrong)
    plan = plan_of(domain, asked)
    assert largest_price(plan, domain, rows) > 1.5 * float(plan.budget.rho)


def test_the_label_of_the_rest_holds_what_no_other_label_holds() -> None:
    cut = Axis(variable="n", labels=("a", "b", REST), cuts=(0, 5, 9), has_rest=True)
    assert [memory._position(cut, code) for code in (-1, 0, 8, 9, -(2**63))] == [2, 0, 1, 2, 2]
    some = Axis(variable="c", labels=("x", REST), codes=(-1, 0), has_rest=True)
    assert [memory._position(some, code) for code in (0, 1, -1)] == [1, 0, 1]


def test_a_stored_list_answers_tables_of_their_own_records_only(domain: Any) -> None:
    content = canonical(load_request(_request()), domain).content
    release = release_of(plan_of(domain, _request()), domain, ROWS, content, "own")
    cross = release.find("sex", "school", "age").values.reshape(2, 4, 3)

    def answer(**table: Any) -> Any:
        asked = load_request({"table": table, "privacy": ZCDP})
        form = canonical(asked, domain)
        return answer_from_list(release, form.space, form.filters, domain, asked.margins(domain))

    # A table of the education shows the records with one, at any age.
    np.testing.assert_allclose(answer(rows=["school"]).tables[0].values, cross.sum(axis=(0, 2))[:3])
    # A condition on education leaves out who has none.
    kept = answer(rows=["sex"], where={"school": ["none", "low", "high"]}).tables[0]
    np.testing.assert_allclose(kept.values, cross[:, :3].sum(axis=(1, 2)))
    both = answer(rows=["sex", "school"], margins=[["school"], []], universe="own")
    np.testing.assert_allclose(both.tables[0].values, cross.sum(axis=(0, 2)))
    # One category of those that the list does not tell apart from missing values is not in it.
    assert answer(rows=[{"variable": "age", "cuts": [0, 20], "closed": True}]) is None
