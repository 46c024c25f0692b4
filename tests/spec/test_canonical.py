"""One form for all spellings; different cells, different digests."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spec.rearranged import rearranged

from dalenius.core.domain import Axis
from dalenius.core.query import TableQuery
from dalenius.engines.memory import MemorySource
from dalenius.spec.canonical import _in_declared_order, canonical, canonical_json, digest
from dalenius.spec.load import load_policy, load_request
from dalenius.spec.request import RequestDocument
from dalenius.testing.toy import toy_domain, toy_rows

DOMAIN = toy_domain()


def ask(privacy: dict[str, Any] | None = None, **table: Any) -> RequestDocument:
    return load_request({"table": table, "privacy": privacy or {"definition": "pure", "epsilon": 1}})


def same(first: RequestDocument, second: RequestDocument) -> bool:
    return canonical(first, DOMAIN).digest == canonical(second, DOMAIN).digest


EQUAL: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"rows": ["sex"], "columns": ["region"]}, {"rows": ["region"], "columns": ["sex"]}),
    ({"rows": ["sex", "region"]}, {"layers": ["sex"], "columns": ["region"]}),
    ({"rows": ["sex"]}, {"rows": [{"variable": "sex"}]}),
    ({"rows": ["sex"]}, {"rows": [{"variable": "sex", "categories": ["male", "female"]}]}),
    ({"rows": ["sex"]}, {"rows": [{"variable": "sex", "groups": {"male": ["male"], "female": ["female"]}}]}),
    (
        {"rows": [{"variable": "region", "level": "half"}]},
        {"rows": [{"variable": "region", "groups": {"lower": ["west", "south"], "upper": ["east", "north"]}}]},
    ),
    ({"where": {"status": ["married", "single"]}}, {"where": {"status": ["1", "2", "married"]}}),
    ({"where": {"sex": "male", "region": ["east"]}}, {"where": {"region": "east", "sex": ["male"]}}),
    ({"where": {"region": {"level": "half", "groups": ["upper"]}}}, {"where": {"region": ["east", "north"]}}),
    ({"where": {"age": {"at_least": 18}}}, {"where": {"age": {"at_least": "36/2"}}}),
    (
        {"rows": [{"variable": "age", "cuts": [18, 65]}]},
        {"rows": [{"variable": "age", "cuts": [0, 18, 65, 100], "closed": True}]},
    ),
    (
        {"rows": ["sex"], "columns": ["region"], "margins": [["sex"], ["region"]]},
        {"rows": ["region"], "columns": ["sex"], "margins": [["region"], ["sex"]]},
    ),
    (
        {"rows": ["sex", "region"], "margins": [["sex", "region"], []], "weights": [1, 2]},
        {"rows": ["sex", "region"], "margins": [[], ["region", "sex"]], "weights": ["4/2", 1.0]},
    ),
]


@pytest.mark.parametrize(("first", "second"), EQUAL, ids=range(len(EQUAL)))
def test_spellings_of_one_request(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert same(ask(**first), ask(**second))


@pytest.mark.parametrize("amount", [1, 1.0, "1", "1.00", "2/2", "1e0"])
def test_number_formats(amount: object) -> None:
    assert same(ask({"definition": "pure", "epsilon": amount}, rows=["sex"]), ask(rows=["sex"]))


DIFFERENT: list[RequestDocument] = [
    ask(rows=["sex"]),
    ask(rows=["region"]),
    ask(rows=["sex"], columns=["region"]),
    ask(rows=[{"variable": "sex", "categories": ["male"]}]),
    ask(rows=[{"variable": "sex", "groups": {"men": ["male"], "women": ["female"]}}]),
    ask(rows=["sex"], where={"region": "east"}),
    ask(rows=["sex"], where={"region": ["east", "west"]}),
    ask(rows=["sex"], where={"sex": ["female", "male"]}),
    ask(rows=["sex"], where={"age": {"at_least": 1}}),
    ask(rows=["sex"], where={"age": {"at_most": 1}}),
    ask(rows=[{"variable": "age", "cuts": [0, 50, 100]}]),
    ask(rows=[{"variable": "age", "cuts": [0, 50, 99], "closed": True}]),
    ask(rows=[{"variable": "age", "cuts": [0, 50, 99]}]),
    ask(rows=["sex"], measure="total", of="income"),
    ask(rows=["sex"], measure="mean", of="income"),
    ask(rows=["sex"], measure="total", of="age"),
    ask(rows=["sex"], weight="income"),
    ask(rows=["sex"], margins="all"),
    ask({"definition": "pure", "epsilon": "0.5"}, rows=["sex"]),
    ask({"definition": "approximate", "epsilon": 1, "delta": "1e-6"}, rows=["sex"]),
    ask({"definition": "zero_concentrated", "rho": 1}, rows=["sex"]),
    ask({"definition": "pure", "epsilon": 1, "mechanism": "discrete_laplace"}, rows=["sex"]),
    ask({"definition": "pure", "epsilon": 1, "strategy": "interior"}, rows=["sex"]),
    ask(rows=["sex"], measure="total", of="income", learn="1/4"),
    ask(rows=["sex"], measure="total", of="income", learn="1/5"),
]


def test_different_requests_differ() -> None:
    digests = [canonical(request, DOMAIN).digest for request in DIFFERENT]
    assert len(set(digests)) == len(digests)


def test_the_domain_is_part_of_the_identity() -> None:
    request = ask(rows=["sex"])
    assert canonical(request, toy_domain(relation="replace")).digest != canonical(request, DOMAIN).digest


def test_titles_and_layout_are_not() -> None:
    first = load_request({"title": "a", "table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 1}})
    assert same(first, ask(columns=["sex"]))


NAMES = ["sex", "region", "status"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.permutations(NAMES), st.integers(0, 3), st.integers(0, 3), st.data())
def test_any_order_and_its_way_back(names: list[str], first: int, second: int, data: st.DataObject) -> None:
    """Shuffled spellings have one digest, and measured values return to the order that was asked for."""
    cut = sorted([first, second])
    items: list[Any] = []
    for name in names:
        labels = data.draw(st.permutations(DOMAIN.variable(name).categories.labels))
        items.append({"variable": name, "categories": list(labels)})
    request = ask(rows=items[: cut[0]], columns=items[cut[0] : cut[1]], layers=items[cut[1] :])
    form = canonical(request, DOMAIN)
    assert form.digest == canonical(ask(rows=NAMES), DOMAIN).digest
    source = MemorySource.open(DOMAIN, toy_rows())
    asked = source.table(TableQuery(space=request.space(DOMAIN))).open_below_the_gate()
    measured = source.table(TableQuery(space=form.space)).open_below_the_gate()
    np.testing.assert_array_equal(rearranged(measured, form.space, request.space(DOMAIN)), asked)
    np.testing.assert_array_equal(rearranged(asked, request.space(DOMAIN), form.space), measured)
    assert form.layout["labels"][names[0]] == list(request.axes(DOMAIN)[0].labels)


def test_canonical_json_is_sorted_and_refuses_floats_of_other_kinds() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'
    with pytest.raises(TypeError):
        canonical_json({"a": object()})


def test_documents_have_digests() -> None:
    assert digest(load_policy({})) == digest({})
    assert digest(load_policy({"budget": {"rho": "1"}})) == digest(load_policy({"budget": {"rho": 1.0}}))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.permutations(range(6)), st.lists(st.integers(-1, 5), min_size=6, max_size=6))
def test_labels_stand_in_the_order_of_the_first_category_that_each_holds(
    names: list[int], given_codes: list[int]
) -> None:
    """Against the definition, label by label."""
    used = [label for label in names if label in given_codes]
    codes = tuple(used.index(code) if code in used else -1 for code in given_codes)
    axis = Axis(variable="v", labels=tuple(f"l{label}" for label in used), codes=codes)
    ordered = _in_declared_order(axis)
    assert ordered.labels == tuple(axis.labels[k] for k in sorted(range(len(axis)), key=codes.index))
    for code, label in enumerate(codes):
        is_outside = label < 0
        assert (ordered.codes[code] < 0) == is_outside
        assert is_outside or ordered.labels[ordered.codes[code]] == axis.labels[label]


_PROPORTION = {"measure": "proportion", "of": "status", "among": ["married"], "rows": ["sex"]}
_QUARTILES = {"measure": "quantiles", "of": "income", "rows": ["sex"]}
_REFINED = {"rows": ["region"], "refine": {"half": 3}}


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        (_PROPORTION, [{"per": 1}, {"per": "1.0"}, {"among": "married"}, {"among": ["married", "married"]}]),
        (_QUARTILES, [{"q": 4}, {"error": "sampling"}, {"q": ["0.5", "3/4", "1/4"]}]),
        ({"measure": "ratio", "of": "income", "other": "age"}, [{"per": 1}, {"error": "sampling"}]),
        ({"measure": "best", "of": "income", "rows": ["sex"]}, [{"which": "largest", "method": "exponential"}]),
        ({"measure": "mode", "rows": ["sex"]}, [{"method": "exponential"}]),
        (
            {"measure": "range_count", "of": "age", "among": {"at_least": 18}},
            [{"among": {"at_least": "18"}}, {"among": {"at_least": 18.0}}],
        ),
        (_REFINED, [{"learn": "1/4"}, {"learn": 0.25}]),
    ],
    ids=lambda part: part.get("measure", "count") if isinstance(part, dict) else "",
)
def test_a_key_that_says_what_is_meant_anyway_is_the_same_question(
    table: dict[str, Any], keys: list[dict[str, Any]]
) -> None:
    def kept(own: dict[str, Any]) -> Any:
        privacy = {"definition": "zero_concentrated", "rho": "0.1"}
        return RequestDocument.model_validate({"table": own, "privacy": privacy}).to_dict()

    assert all(kept(table | written) == kept(table) for written in keys)
    assert kept(table | {"rows": ["region", "sex"]}) != kept(table)
