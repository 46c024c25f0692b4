"""Every state is an address, and every address is a state."""

from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core import registry
from dalenius.server.pages.address import from_request, read_pairs
from dalenius.server.pages.builder import shape_of
from dalenius.server.pages.state import AxisChoice, TableState, suggested_cuts
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, LevelView, VariableView
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.method import LANGUAGES, FieldKind, form_fields, takes_categories

SEX = VariableView(name="sex", label="Sex", is_numeric=False, categories=("female", "male"))
AREA = VariableView(
    name="area",
    label="Area",
    is_numeric=False,
    categories=("a", "b & c", "d|e", "ü=1"),
    levels=(LevelView(name="half", groups=("north", "south")),),
)
PAY = VariableView(name="pay", label="Pay", is_numeric=True, bounds=("0", "100"), step="1/2")
DATA = DatasetView(
    name="data",
    title="Data",
    version="1",
    population="people",
    description="",
    mode="interactive",
    has_list=False,
    variables=(SEX, AREA, PAY),
    neighbours="",
    measures=("count", "total", "mean"),
    definitions=("pure",),
    defaults={"definition": "pure", "epsilon": "0.1"},
    most_cells=1000,
)
DOMAIN = load_dataset(
    {"dataset": {"name": "data", "population": "people"}, "variables": {"pay": {"bounds": [0, 100], "step": "1/2"}}}
).domain()


def test_a_known_address() -> None:
    pairs = [("rows", "sex"), ("columns", "area"), ("level.area", "half"), ("measure", "total:pay"), ("epsilon", "2")]
    state = read_pairs(pairs, DATA)
    assert state.to_request("data") == {
        "dataset": "data",
        "table": {"rows": ["sex"], "columns": [{"variable": "area", "level": "half"}], "measure": "total", "of": "pay"},
        "privacy": {"definition": "pure", "epsilon": "2"},
    }


def test_an_accuracy_stands_in_the_place_of_the_amount() -> None:
    state = read_pairs([("rows", "sex"), ("epsilon", "2"), ("definition", "pure"), ("error_at_most", "20")], DATA)
    assert state.to_request("data")["privacy"] == {"definition": "pure", "error_at_most": "20"}
    assert read_pairs(state.to_pairs(), DATA) == state
    assert from_request(state.to_request("data"), DATA) == state
    # Without it the usual amount is back.
    emptied = [(key, value) for key, value in state.to_pairs() if key != "error_at_most"]
    assert read_pairs(emptied, DATA).to_request("data")["privacy"] == {"definition": "pure", "epsilon": "0.1"}


def test_what_is_unknown_is_left_out_and_named() -> None:
    state = read_pairs([("rows", "sex"), ("rows", "salary"), ("columns", "sex"), ("where.sex", "male")], DATA)
    assert [c.variable for c in state.rows] == ["sex"]
    assert (state.columns, state.problems, state.where) == ((), ("salary",), {})
    for measure in ("median:salary", "fashion:"):
        state = read_pairs([("rows", "sex"), ("measure", measure)], DATA)
        assert (state.measure, state.problems) == ("count", (measure,))
    weighted = {"table": {"rows": ["sex"], "weight": "pay"}, "privacy": {"definition": "pure", "epsilon": 1}}
    assert read_pairs([("rows", "sex"), ("weight", "pay")], DATA).problems == ("weight=pay",)
    assert from_request(weighted, DATA).problems == ("weight=pay",)


WORK = VariableView(name="work", label="Hours", is_numeric=True, bounds=("0", "80"), step="1")
ASKED = tuple(name for name in registry.names("methods") if form_fields(name))
RICHER = replace(DATA, variables=(*DATA.variables, WORK), measures=(*DATA.measures, *ASKED))


@pytest.mark.parametrize("method", ASKED)
def test_keys_of_a_measure_are_asked_for_kept_in_the_address_and_written_to_a_valid_request(method: str) -> None:
    of = "area" if takes_categories(method) else "pay"
    state = read_pairs([("rows", "sex"), ("measure", f"{method}:{of}")], RICHER)
    assert state.keys.keys() == form_fields(method).keys() and not state.problems
    assert read_pairs(state.to_pairs(), RICHER) == state
    request = state.to_request("data")
    assert load_request(request).parameters is registry.get("methods", method).Parameters or method == "quantile"
    assert from_request(request, RICHER) == state
    # Every language has a name for every key and every word that can be chosen.
    for asked in form_fields(method).values():
        assert set(asked.labels) == set(LANGUAGES)
        assert all(set(words) == set(LANGUAGES) for words in asked.choices.values())
        assert asked.is_needed or asked.usual in asked.choices or asked.kind is not FieldKind.CHOICE


def test_what_a_key_does_not_know_is_what_the_form_proposes() -> None:
    def keys(measure: str, *pairs: tuple[str, str]) -> dict[str, tuple[str, ...]]:
        return dict(read_pairs([("rows", "sex"), ("measure", measure), *pairs], RICHER).keys)

    assert keys("ratio:pay", ("key.other", "pay")) == {"other": ("work",), "error": ("noise",)}
    assert keys("quantile:pay", ("key.q", "0,25"), ("written", "de")) == {"q": ("0.25",)}
    assert keys("proportion:area", ("key.among", "ü=1"), ("key.among", "z")) == {"among": ("ü=1",)}
    # An older request that states no error means the one with sampling.
    older = {"table": {"rows": ["sex"], "measure": "variance", "of": "pay"}, "privacy": {"definition": "pure"}}
    assert from_request(older, RICHER).keys == {"error": ("sampling",)}
    assert "error" not in from_request(older, RICHER).to_request("data")["table"]


@pytest.mark.parametrize(("measure", "key", "first"), [("variance", "error", "noise")])
def test_a_proposed_key_is_left_out_where_the_guarantee_does_not_know_it(measure: str, key: str, first: str) -> None:
    for definition, stated in (("pure", first), ("individual", None)):
        pairs = [("measure", f"{measure}:pay"), ("definition", definition)]
        assert read_pairs(pairs, RICHER).to_request("data")["table"].get(key) == stated


def test_numbers_are_proposed_by_the_declared_bounds_and_stay_empty_once_left_empty() -> None:
    def asked(measure: str, *pairs: tuple[str, str]) -> dict[str, object]:
        table: dict[str, object] = read_pairs([("measure", measure), *pairs], RICHER).to_request("data")["table"]
        return table

    assert asked("range_count:pay") == {
        "measure": "range_count",
        "of": "pay",
        "among": {"at_least": "0", "at_most": "100"},
    }
    assert asked("range_count:pay", ("key.among.from", "30"))["among"] == {"at_least": "30"}
    assert asked("propose_test_release:pay")["bounds"] == "5"
    cascade = asked("propose_test_release:pay", ("key.bounds", "1,5; 5 20"), ("written", "de"))
    assert cascade["bounds"] == ["1.5", "5", "20"]
    blocks = asked(
        "sample_and_aggregate:pay",
        ("key.model", "logistic"),
        ("key.predictors", "work"),
        ("key.predictors", "pay"),
        ("key.blocks", "30"),
        ("key.clip", "-1,5"),
        ("key.clip", "1,5"),
        ("written", "de"),
    )
    assert blocks == {
        "measure": "sample_and_aggregate",
        "of": "pay",
        "model": "logistic",
        "clip": ["-1.5", "1.5"],
        "predictors": ["work"],
        "blocks": 30,
    }
    load_request(read_pairs([("measure", "sample_and_aggregate:pay")], RICHER).to_request("data"))


def test_one_number_needs_no_variable_in_rows() -> None:
    assert read_pairs([("measure", "mean:pay")], RICHER).is_empty
    assert not read_pairs([("measure", "range_count:pay")], RICHER).is_empty


def test_a_weight_is_kept_where_the_measure_takes_one_and_the_policy_has_it() -> None:
    weighted = replace(RICHER, weights=("work",))
    pairs = [("rows", "sex"), ("measure", "mean:pay"), ("weight", "work")]
    state = read_pairs(pairs, weighted)
    assert state.to_request("data")["table"]["weight"] == "work"
    assert read_pairs(state.to_pairs(), weighted) == state
    assert from_request(state.to_request("data"), weighted) == state
    assert not read_pairs(pairs, RICHER).weight
    assert not read_pairs(
        [("rows", "sex"), ("measure", "sample_and_aggregate:pay"), ("weight", "work")], weighted
    ).weight


def test_a_proportion_is_of_categories_and_a_mean_of_numbers() -> None:
    for measure in ("proportion:pay", "ratio:area"):
        assert read_pairs([("rows", "sex"), ("measure", measure)], RICHER).problems == (measure,)


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({"cuts.pay": "20,60"}, ("0 – 20", "20 – 60", "60 – 100")),
        ({"cuts.pay": "20"}, ("0 – 20", "20 – 100")),
        ({"cuts.pay": "0,20,100"}, ("0 – 20", "20 – 100")),
        ({"cuts.pay": "20,60", "closed.pay": "1"}, ("20 – 60",)),
        ({"cuts.pay": "20,60", "from.pay": "20"}, ("20 – 60", "60 – 100")),
        ({"cuts.pay": "20,60", "from.pay": "19.5", "to.pay": "59.5"}, ("0 – 20", "20 – 60")),
        ({"cuts.pay": "20,60", "from.pay": "19.9", "to.pay": "60"}, ("20 – 60", "60 – 100")),
        ({"cuts.pay": "1/0,60"}, ("1/0 – 60",)),
        ({"cuts.pay": "1,1e999999999"}, ("1 – 1e999999999",)),
    ],
)
def test_the_shape_has_the_classes_of_the_request(fields: dict[str, str], labels: tuple[str, ...]) -> None:
    state = read_pairs([("rows", "pay"), *fields.items()], DATA)
    shape = shape_of(state, DATA, Wording("en", cast("Any", None)))
    assert shape is not None and tuple(label for ((label, _),) in shape.lines) == labels
    if "/" not in fields["cuts.pay"] and "e" not in fields["cuts.pay"]:
        request = load_request(state.to_request("data"))
        assert request.axes(DOMAIN)[0].labels == tuple(
            f"[{a}, {b}{']' if b == '100' else ')'}" for a, b in (label.split(" – ") for label in labels)
        )


def test_a_range_that_ends_at_zero_is_a_range() -> None:
    request = {"table": {"rows": ["sex"], "where": {"pay": {"at_least": 0, "at_most": 0}}}, "privacy": {"epsilon": 1}}
    assert from_request(request, DATA).ranges == {"pay": ("0", "0")}


def test_buttons_move_variables() -> None:
    state = TableState().act("rows:sex", DATA).act("rows:area", DATA).act("columns:pay", DATA)
    assert [c.variable for c in state.rows] == ["sex", "area"]
    assert state.columns[0].cuts == suggested_cuts(PAY) == ("0", "20", "40", "60", "80", "100")
    assert [c.variable for c in state.act("earlier:area", DATA).rows] == ["area", "sex"]
    assert state.act("swap:", DATA).rows == state.columns
    assert state.act("columns:sex", DATA).place_of("sex") == "columns"
    assert state.act("remove:pay", DATA).columns == ()
    assert state.act("rows:nothing", DATA) == state.act("nonsense", DATA) == state
    assert state.act("clear:", DATA).is_empty


def test_a_filter_becomes_the_choice_of_categories() -> None:
    state = read_pairs([("where.area", "a"), ("where.area", "d|e")], DATA)
    assert state.act("rows:area", DATA).rows == (AxisChoice(variable="area", picks=("a", "d|e")),)


@st.composite
def states(draw: st.DrawFn) -> TableState:
    """Any state that the builder can be in."""
    picks = draw(st.lists(st.sampled_from(AREA.categories), unique=True, max_size=3))
    area = draw(
        st.sampled_from(
            [
                AxisChoice(variable="area", picks=tuple(c for c in AREA.categories if c in picks)),
                AxisChoice(variable="area", level="half"),
                AxisChoice(variable="area", level="*", groups=(("x y", ("a", "d|e")), ("ß", ("ü=1",)))),
            ]
        )
    )
    pay = AxisChoice(variable="pay", cuts=("0", "7.5", "100"), is_closed=draw(st.booleans()))
    axes = draw(st.permutations([area, AxisChoice(variable="sex"), pay]))
    first, second = sorted(draw(st.tuples(st.integers(0, 3), st.integers(0, 3))))
    used = draw(st.integers(second, 3))
    placed = axes[:used]
    where = {} if any(c.variable == "sex" for c in placed) else draw(st.sampled_from([{}, {"sex": ("male",)}]))
    measure, of = draw(st.sampled_from([("count", ""), ("total", "pay"), ("mean", "pay")]))
    return TableState(
        rows=tuple(placed[:first]),
        columns=tuple(placed[first:second]),
        layers=tuple(placed[second:]),
        where=where,
        ranges=draw(st.sampled_from([{}, {"pay": ("1", "")}, {"pay": ("1", "99.5")}])),
        measure=measure,
        of=of,
        error=draw(st.sampled_from(["", "bootstrap"])) if of else "",
        margins=(margins := draw(st.booleans())),
        universe=draw(st.sampled_from(["", "complete", "own"])) if margins else "",
        definition="pure",
        amounts={"epsilon": draw(st.sampled_from(["0.1", "1/3", "2"]))},
        title=draw(st.sampled_from(["", "A & B <i>"])),
    )


@given(states())
def test_addresses_and_states_are_one_to_one(state: TableState) -> None:
    pairs = parse_qsl(urlencode(state.to_pairs()))
    assert read_pairs(pairs, DATA) == state
    assert read_pairs(pairs, DATA).to_pairs() == pairs


@given(states())
def test_documents_lead_back_to_the_state(state: TableState) -> None:
    assert from_request(state.to_request("data"), DATA) == state


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=30))
def test_no_address_is_too_odd(pairs: list[tuple[str, str]]) -> None:
    names = [
        "rows",
        "columns",
        "level.area",
        "group.area",
        "cuts.pay",
        "closed.pay",
        "from.pay",
        "measure",
        "pick.sex",
        "where.sex",
    ]
    odd = [(names[i % len(names)], value) for i, (_, value) in enumerate(pairs)]
    for given_pairs in (pairs, odd):
        state = read_pairs(given_pairs, DATA)
        assert read_pairs(state.to_pairs(), DATA).to_pairs() == state.to_pairs()
