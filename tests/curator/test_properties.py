"""The eight properties: described, applied to released values or to the law, never to exact counts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, Categories, CellSpace, Domain, Hierarchy, Variable
from dalenius.core.law import Additive
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.rules import apply
from dalenius.errors import NotAllowed
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.plans.margins.plan import propose_merging
from dalenius.plans.ruled_noise import mechanism_for
from dalenius.spec.policy import TableRules
from dalenius.spec.properties import PROPERTIES

ONE = Sensitivity.of_patterns(((1,),))
APPROXIMATE = registry.get("definitions", "approximate")()
PURE = registry.get("definitions", "pure")()


def release(values: list[float]) -> Release:
    space = CellSpace(
        (Axis(variable="x", labels=tuple(map(str, range(len(values)))), codes=tuple(range(len(values)))),)
    )
    law = Additive(DiscreteLaplace(Fraction(1)))
    array = np.array(values)
    provenance = Provenance(
        dataset="d", population="p", version="1", definition="pure", budget={}, neighbours={}, cost={}, mechanism="",
        strategy="", evidence={}, software="", request={}, digest="",
    )  # fmt: skip
    return Release(
        blocks=(Block(name="x", space=space, values=array.astype(np.int64), law=law),),
        tables=(Table(name="x", space=space, values=array, variance=np.full(len(values), law.variance)),),
        law=law,
        provenance=provenance,
    )


def test_there_are_eight_and_each_is_an_option_of_the_policy() -> None:
    assert len(PROPERTIES) == 8
    assert {p.option for p in PROPERTIES} == set(TableRules.model_fields)


def test_rules_on_released_values() -> None:
    withheld = apply(TableRules(sparse=Fraction(5)), release([0, 1, 2, 3]))
    assert withheld.tables == () and withheld.blocks == ()
    assert withheld.adjustments[0]["charged"] is True
    kept = apply(TableRules(sparse=Fraction(1)), release([0, 1, 2, 3]))
    assert len(kept.tables) == 1


def test_nothing_fails_after_the_charge() -> None:
    """Totals pass unchanged; a withheld variance and several levels are shown as whole counts."""
    rules = TableRules(nonnegative=True, threshold=2, sparse=Fraction(1000))
    totals = release([-4.0, 1.0])
    totals = totals.with_(tables=(replace(totals.tables[0], measure="total"),))
    assert apply(rules, totals) is totals
    hidden = release([-4.0, 9.0])
    hidden = hidden.with_(tables=(replace(hidden.tables[0], variance=np.full(2, np.nan)),))
    assert apply(TableRules(nonnegative=True), hidden).tables[0].values.tolist() == [0, 9]
    fine = Axis(variable="r", labels=("a", "b"))
    coarse = Axis(variable="r", labels=("all",), level="country")
    tables = tuple(
        Table(name=a.name, space=CellSpace((a,)), values=np.full(len(a), -1.0), variance=np.ones(len(a))) for a in (fine, coarse)
    )  # fmt: skip
    levels = release([1.0]).with_(tables=tables)
    assert all((t.values == 0).all() for t in apply(TableRules(nonnegative=True), levels).tables)


def test_truncation_states_its_delta_and_refuses_a_smaller_one() -> None:
    roomy = Budget.of("approximate", epsilon="0.5", delta="0.01")
    law = mechanism_for(TableRules(truncation=7), ONE, Relation.ADD_REMOVE, APPROXIMATE, roomy)
    assert law.support == (-7, 7)
    tight = replace(roomy, delta=Fraction(1, 10**6))
    with pytest.raises(NotAllowed, match="gives the count away"):
        mechanism_for(TableRules(truncation=7), ONE, Relation.ADD_REMOVE, APPROXIMATE, tight)


def test_variance_cap_sets_a_floor_on_epsilon() -> None:
    rules = TableRules(variance_cap=Fraction(8))
    fine = mechanism_for(rules, ONE, Relation.ADD_REMOVE, PURE, Budget.of("pure", epsilon="0.5"))
    assert fine.variance <= 8
    with pytest.raises(NotAllowed, match="larger epsilon"):
        mechanism_for(rules, ONE, Relation.ADD_REMOVE, PURE, Budget.of("pure", epsilon="0.4"))


def test_maximum_entropy_is_priced_exactly() -> None:
    rules = TableRules(maximum_entropy=True, truncation=20, variance_cap=Fraction(18))
    budget = Budget.of("approximate", epsilon=1, delta="1e-4")
    law = mechanism_for(rules, ONE, Relation.ADD_REMOVE, APPROXIMATE, budget)
    assert law.name == "max_entropy"
    with pytest.raises(NotAllowed):
        mechanism_for(TableRules(maximum_entropy=True, truncation=3, variance_cap=Fraction(2)), ONE, Relation.ADD_REMOVE, APPROXIMATE, budget)  # fmt: skip


def test_merging_is_proposed_from_the_request_and_a_public_size() -> None:
    towns = Categories(labels=tuple(f"t{i}" for i in range(12)))
    counties = Hierarchy.of(
        "county", {f"c{k}": tuple(f"t{i}" for i in range(12) if i % 4 == k) for k in range(4)}, towns
    )
    whole = Hierarchy.of("country", {"all": towns.labels}, towns)
    domain = Domain(
        name="d", population="p", version="1", neighbours=Neighbours(), public_size=240,
        variables={"town": Variable(name="town", domain=towns, hierarchies=(counties, whole))},
    )  # fmt: skip
    space = CellSpace((Axis(variable="town", labels=towns.labels, codes=tuple(range(12))),))
    proposals = propose_merging(domain, space, std_error=15.0)
    assert [p["level"] for p in proposals] == ["county", "country"]
    assert proposals[0]["is_sufficient"]
    assert propose_merging(domain, space, std_error=2.0) == []
    assert propose_merging(replace(domain, public_size=None), space, std_error=99.0) == []
