"""Batches: several tables fixed in advance, within one guarantee, charged once, and shown each under its own words.

The loss of a whole batch is computed by dp-accounting from the laws that its release publishes, so that what is checked is what a
reader holds.
"""

import json
from collections.abc import Generator, Iterator
from copy import copy
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest

import dalenius
from dalenius import limits
from dalenius.core.budget import Cost
from dalenius.core.contracts import Measurement
from dalenius.core.law import Additive, Censored
from dalenius.core.neighbours import Relation
from dalenius.core.plan import BatchPlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Outcome, Release
from dalenius.curator import gate
from dalenius.curator.curator import Curator
from dalenius.errors import AfterCharge, DocumentError, NotAllowed, RequestError, TooLarge, Unsupported
from dalenius.exact.loss import of_shift
from dalenius.inference.cells import intervals
from dalenius.ledger.composition import compose
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.plans import batch as _batch
from dalenius.plans.allotments import affordable_rho
from dalenius.publish import formats, from_json, write_json
from dalenius.shown.speech import expectation
from dalenius.spec.batch import BatchDocument
from dalenius.spec.load import load_asked, load_request
from dalenius.spec.schema import schema
from dalenius.testing import rule_kit
from dalenius_lab.accounting.batch import Batch

WOMEN = {"rows": "region", "where": {"sex": "female"}, "title": "Women"}
TABLES: tuple[dict[str, Any], ...] = (
    {"rows": "sex", "columns": ["region"], "title": "Everybody"},
    WOMEN,
    {"rows": ["sex"], "measure": "total", "of": "income", "share": 2},
)
# Eight counts: enough for Gaussian noise to be the least.
MANY = tuple({"rows": "region", "where": {"age": {"at_least": 10 * k}}} for k in range(1, 9))


def curator_of(folder: Path, **policy: Any) -> Curator:
    curator = Curator.open(
        rule_kit.DATASET,
        data=rule_kit.ROWS,
        ledger=folder / "ledger.sqlite",
        policy={**rule_kit.policy_of(None), **policy},
        rng=RecordedRandomness("batches"),
    )
    curator.register()
    return curator


@dataclass(frozen=True, kw_only=True, repr=False)
class _Longer(BatchPlan):
    """A batch that measures its last table once more than its price says."""

    def steps(self) -> Generator[Measurement, Outcome, None]:
        for step in (*self.measurements, self.measurements[-1]):
            _ = yield step


@dataclass(frozen=True, kw_only=True, repr=False)
class _Other(BatchPlan):
    """A batch whose last step is none of those that its price is of."""

    def steps(self) -> Generator[Measurement, Outcome, None]:
        for step in (*self.measurements[:-1], copy(self.measurements[-1])):
            _ = yield step


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with curator_of(tmp_path) as curator:
        yield curator


def test_the_arithmetic_of_a_batch_is_bounded_as_a_whole(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    privacy = {"definition": "approximate", "epsilon": "1", "delta": "1e-6"}
    monkeypatch.setattr(limits, "ATOMS", 1 << 12)
    tables = [{**table, "rows": [table["rows"]]} for table in MANY]
    for table in tables:
        assert curator.plan(load_request({"table": table, "privacy": privacy}))
    with pytest.raises(TooLarge, match="together"):
        curator.plan(load_asked({"table": tables, "privacy": privacy}))


def stated_epsilon(release: Release, delta: str) -> float:
    """The epsilon of all published counts together, by dp-accounting."""
    events = []
    for block in release.blocks:
        assert isinstance(block.law, Additive)
        name, key = {"discrete_laplace": ("rate", "rate"), "discrete_gaussian": ("sigma_squared", "variance")}[
            block.law.noise.name
        ]
        events.append({"kind": block.law.noise.name, key: block.law.noise.parameters[name], "shift": 1})
    return float(Batch(events=tuple(events)).epsilon(delta))


def test_a_batch_loses_no_more_than_it_states_and_hardly_less(curator: Curator) -> None:
    batch = dalenius.batch(*MANY, epsilon=1, delta="1e-3")
    release = curator.release(batch)
    assert {block.law.noise.name for block in release.blocks} == {"discrete_gaussian"}  # type: ignore[union-attr]
    assert 0.95 < stated_epsilon(release, "1e-3") <= 1
    # Through rho, as tables chosen one after the other, the same guarantee takes more variance.
    rho = affordable_rho(Fraction(1), Fraction(1, 1000))
    laws = [block.law for block in release.blocks if isinstance(block.law, Additive)]
    assert sum(1 / (2 * law.variance) for law in laws) > 1.1 * float(rho)


def test_a_planted_batch_that_is_raised_without_looking_at_its_loss_is_found(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batch, "_fits", lambda asked, plans: True)
    release = curator.release(dalenius.batch(*MANY[:2], epsilon=1, delta="1e-3"))
    assert stated_epsilon(release, "1e-3") > 1.5


def test_a_batch_is_one_charge_and_free_when_asked_again_in_any_order(curator: Curator) -> None:
    batch = dalenius.batch(*TABLES, rho="1/4")
    plan = curator.plan(batch)
    assert isinstance(plan, BatchPlan) and plan.cost.rho == Fraction(1, 4)
    before = len(curator.ledger.reader.entries("toys"))
    release = curator.release(batch)
    assert [e.kind for e in curator.ledger.reader.entries("toys")[before:]].count("charge") == 1
    left = curator.left
    again = curator.release(dalenius.batch(*reversed(TABLES), rho="1/4", title="the same"))
    assert curator.left == left and again.provenance.ledger_entry == release.provenance.ledger_entry
    assert again.about.title == "the same"
    for one, other in zip(release.members, reversed(again.members), strict=True):
        assert np.array_equal(one.values, other.values) and one.about == other.about
    assert curator.quote(batch).rho == 0


def test_a_table_of_a_batch_asked_for_alone_is_another_question(curator: Curator) -> None:
    curator.release(dalenius.batch(*TABLES, rho="1/4"))
    left = curator.left
    curator.release(dalenius.table(rows="sex", columns="region", rho="1/4"))
    assert curator.left.rho == left.rho - Fraction(1, 4)


def test_every_member_has_its_own_words_law_and_interval(curator: Curator) -> None:
    release = curator.release(dalenius.batch(*TABLES, rho="1/4"))
    everybody, women, income = release.members
    assert [m.about.title for m in release.members] == ["Everybody", "Women", ""]
    assert women.about.where[0].kept == ("female",) and income.about.measure == "total"
    assert len(release.tables) == 3 and release.owner(release.tables[1]) is women
    # The shares of rho are a quarter, a quarter and a half.
    assert [m.law.variance for m in (everybody, women)] == pytest.approx([8, 8])  # type: ignore[union-attr]
    assert everybody.law != income.law
    for member in release.members:
        table = intervals(member)
        assert len(table) == member.table.space.size
        assert "all tables of this batch together" in member.provenance.guarantee
        assert member.provenance.request["batch"] == release.provenance.digest
    with pytest.raises(Unsupported, match="law of its own"):
        intervals(release)
    assert list(release.to_frame(release.tables[2])["std_error"]) == [80.0, 80.0]


def test_every_product_shows_every_table_with_its_subject(curator: Curator, capsys: pytest.CaptureFixture[str]) -> None:
    from dalenius.cli.tables import print_release

    release = curator.release(dalenius.batch(*TABLES, rho="1/4", title="Three at once"))
    content = write_json(release)
    assert write_json(from_json(content)) == content
    document = json.loads(content)
    jsonschema_rs.validator_for(schema("release")).validate(document)
    assert document["members"][1]["subject"] is not None
    print_release(release)
    csv = formats()["csv"].content(release).decode()
    for text in (formats()["html"].content(release).decode(), capsys.readouterr().out, release._repr_html_()):
        for words in ("Three at once", "Everybody", "Women", "sex: female", "Total of income"):
            assert words in text
    assert csv.count('\n"Everybody: ') == 6 and csv.count('\n"Women: ') == 3 and csv.count("sex: female") == 3, csv
    second = formats()["csv"].content(release, release.tables[1]).decode()
    assert second.count("released") == 3 and "Total of income" not in second
    # What a file is about stands in the description beside it.
    about = formats()["csvw"].content(release, release.tables[1]).decode()
    assert "sex: female" in about and "Total of income" not in about
    assert repr(release) == (
        "<Release of toys 1: Three at once\n 3 tables charged as one, zero_concentrated rho 0.25, published>"
    )


def test_the_plan_shows_every_error_and_the_price_beside_the_sum_of_single_prices(curator: Curator) -> None:
    preview = curator.plan(dalenius.batch(*MANY[:3], epsilon=1, delta="1e-3", mechanism="discrete_gaussian")).preview
    assert [table["cells"] for table in preview["tables"]] == [3] * 3
    assert all(table["half_width_95"] > 0 for table in preview["tables"])
    # One by one, the same noise would have to be stated with half as much again.
    assert preview["epsilon_one_by_one"] > 1.5
    english = expectation("", preview, str)
    german = expectation("", preview, str, "de")
    assert len(english) == len(german) == 2 and not set(english) & set(german)
    assert "charged as one" in english[0] and "als eine verbucht" in german[0]


def test_steps_that_fail_together_are_charged_less_than_their_sum_and_pass_the_gate(tmp_path: Path) -> None:
    tables = tuple({"rows": "region", "where": {"age": {"at_least": 10 * k}}} for k in range(1, 7))
    with curator_of(tmp_path, budget={"rho": 900, "delta": "0.2"}) as curator:
        batch = dalenius.batch(
            *tables, epsilon=3, delta="0.1", mechanism="truncated_laplace", noise={"rate": "1/2", "limit": 20}
        )
        plan = curator.plan(batch)
        assert isinstance(plan, BatchPlan)
        assert plan.cost.rho < Fraction(9, 10) * plan.single.rho and plan.cost.delta <= Fraction(1, 10)
        release = curator.release(batch)
        # The same price from the events that the release publishes, by the ledger's own composition.
        law = TruncatedLaplace(Fraction(1, 2), 20)
        assert {block.law for block in release.blocks} == {Additive(law)}
        event = {"kind": "noise", "mechanism": law.name, "parameters": law.parameters, "shift": 1, "times": 6}
        assert plan.cost.rho == Batch(events=(event,)).cost("0.1").rho
        assert of_shift(law, 1).times(6).delta(Fraction(3)) <= Fraction(1, 10)
        # A reservation that covers less than the batch loses stops it after the last step that fits.
        less = replace(plan, reservation=replace(plan.cost, rho=plan.cost.rho * Fraction(99, 100)))
        with pytest.raises(AfterCharge):
            gate.run(less, curator.source, plan.neighbours, less.reservation, RecordedRandomness("less"))
        # A batch that takes a step which its price does not know is stopped, too, further or in the place of another.
        parts = {f.name: getattr(plan, f.name) for f in fields(plan)}
        for other in (_Longer(**parts), _Other(**parts)):
            with pytest.raises(AfterCharge):
                gate.run(other, curator.source, plan.neighbours, plan.reservation, RecordedRandomness("more"))


def test_gaussian_and_other_steps_without_a_failure_are_charged_their_sum(curator: Curator) -> None:
    plan = curator.plan(dalenius.batch(*TABLES[:2], rho="1/4"))
    profiles = [m.profile(plan.neighbours) for m in plan.measurements]
    assert compose(profiles) == Cost(relation=Relation.ADD_REMOVE, rho=Fraction(1, 4))


@pytest.mark.parametrize(
    ("policy", "table"),
    [
        ({"table": {"variance_cap": "0.001"}}, TABLES[1]),
        ({"table": {"unbiased": True}}, {"rows": ["sex"], "measure": "median", "of": "age"}),
        ({"table": {"threshold": 3}}, TABLES[2]),
    ],
)
def test_one_member_that_breaks_a_rule_refuses_the_batch_before_anything_is_spent(
    tmp_path: Path, policy: dict[str, Any], table: dict[str, Any]
) -> None:
    with curator_of(tmp_path, **policy) as curator:
        left = curator.left
        with pytest.raises(NotAllowed):
            curator.release(dalenius.batch(TABLES[0], table, rho="1/4"))
        assert curator.left == left


def test_a_rule_shapes_every_member(tmp_path: Path) -> None:
    with curator_of(tmp_path, table={"threshold": 5}) as curator:
        release = curator.release(dalenius.batch(*TABLES[:2], rho="1/4"))
        for member in release.members:
            assert isinstance(member.law, Censored)
            assert all(value == 0 or value >= 5 for value in member.table.values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": [TABLES[0]]}, "at least 2"),
        ({"table": [TABLES[0], TABLES[0] | {"title": "again"}]}, "ask for the same"),
        ({"table": [TABLES[0], TABLES[1] | {"share": 0}]}, "must be positive"),
        ({"table": [TABLES[0], TABLES[1] | {"no_such_key": 0}]}, "no_such_key"),
        ({"privacy": {"definition": "pure", "epsilon": 1, "group": 2}}, "for one unit"),
        ({"privacy": {"definition": "pure", "epsilon": 1, "options": {"clamp": "x"}}}, "no key 'options'"),
        ({"privacy": {"definition": "individual", "epsilon": 1}}, "one by one"),
        ({"show": {"whole": True}}, "show"),
        ({"table": [TABLES[1], {"rows": ["region"], "refine": {"half": 5}}]}, "fixed in advance"),
    ],
)
def test_what_is_no_batch_is_refused_by_name(curator: Curator, change: dict[str, Any], words: str) -> None:
    content = {
        "table": [{**TABLES[0], "rows": ["sex"]}, {**TABLES[1], "rows": ["region"]}],
        "privacy": {"definition": "pure", "epsilon": 1},
    } | change
    content["table"] = [
        {**part, "rows": [part["rows"]] if isinstance(part["rows"], str) else part["rows"]} for part in content["table"]
    ]
    left = curator.left
    with pytest.raises((DocumentError, Unsupported), match=words):
        curator.release(content)
    assert curator.left == left


def test_a_refusal_says_which_table_it_is_about(curator: Curator) -> None:
    for table, words in (
        ({"rows": ["sex"], "measure": "quantile", "of": "income", "q": 2}, "Table 2: .*q"),
        ({"rows": ["sex"], "measure": "ratio", "of": "income"}, "Table 2: .*other"),
    ):
        with pytest.raises(RequestError, match=words) as refused:
            curator.plan({"table": [{"rows": ["region"]}, table], "privacy": {"definition": "pure", "epsilon": 1}})
        assert refused.value.detail["table"] == 2


def test_a_batch_is_read_by_its_list_and_refused_where_one_table_is_served() -> None:
    text = '[[table]]\nrows = ["sex"]\n\n[[table]]\nrows = ["region"]\nshare = 3\n\n[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    batch = load_asked(text)
    assert isinstance(batch, BatchDocument) and batch.shares == (Fraction(1, 4), Fraction(3, 4))
    assert batch == dalenius.batch({"rows": "sex"}, {"rows": "region", "share": 3}, epsilon=1)
    with pytest.raises(DocumentError, match=r"dalenius release"):
        load_request(text)
