"""Data-dependent plans: closed unless named, on their own page, and silent about the scale."""

import json
import logging
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.budget import MASTER
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Relation, Scope
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.curator.memo import plan_digest
from dalenius.engines.memory import MemorySource
from dalenius.errors import (
    DocumentError,
    NotAllowed,
    ParameterError,
    PolicyError,
    RequestError,
    TooLarge,
    Unconfirmed,
    UnknownName,
    Unsupported,
)
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of

DATASET = {
    "dataset": {"name": "farms", "population": "farms", "version": "1", "source": "farms.csv", "public": True},
    "unit": {"relation": "replace"},
    "variables": {
        "status": {"categories": ["owner", "share", "mixed"]},
        "output": {"weight": True, "bounds": [0, 1_000_000], "step": 1, "missing": 0, "unit": "kg"},
    },
}


def domain(**changes) -> Domain:
    return replace(DatasetDocument.model_validate(DATASET).domain(), **changes)


def policy(*acknowledge: str, floors=None) -> PolicyDocument:
    return PolicyDocument.model_validate(
        {"allow": {"acknowledge": list(acknowledge)}, "floors": {"output": 5} if floors is None else floors}
    )


def request(definition="bootstrap", table=None, keys=None, **privacy) -> RequestDocument:
    table = table or {"rows": ["status"], "measure": "total", "of": "output"}
    amounts = privacy or {"epsilon": 1}
    return RequestDocument.from_dict({"table": table | (keys or {}), "privacy": {"definition": definition, **amounts}})


COUNT = {"measure": "count", "where": {"status": ["owner"]}}
LIST = {"measure": "total", "of": "output"}


def test_which_definitions_depend_on_the_data():
    accounts = {name: definition.account for name, definition in registry.every("definitions").items()}
    assert {name: page for name, page in accounts.items() if page != MASTER} == {
        "bootstrap": "data-dependent",
        "individual": "data-dependent",
        "public_attributes": "public-attributes",
    }


@pytest.mark.parametrize("definition", ["bootstrap", "individual"])
def test_refused_unless_the_policy_names_it(definition):
    asked = request(definition, LIST, epsilon=1, keys={"measure": "median"})
    with pytest.raises(NotAllowed) as refusal:
        plan_of(domain(), asked, policy())
    assert definition in refusal.value.message
    assert plan_of(domain(), asked, policy(definition)).definition == definition


def test_a_floor_must_be_declared():
    with pytest.raises(NotAllowed, match="floor"):
        plan_of(domain(), request(), policy("bootstrap", floors={}))
    by_definition = plan_of(domain(), request(), policy("bootstrap", floors={"bootstrap": "2.5"}))
    assert by_definition.measurements[0].floor == 3


def test_options_are_named_by_the_custodian():
    with pytest.raises(NotAllowed):
        plan_of(domain(), request(epsilon=1, keys={"membership": "public"}), policy("bootstrap"))
    named = policy("bootstrap", "bootstrap_per_cell", "public_membership")
    plan = plan_of(domain(), request(epsilon=1, keys={"membership": "public"}), named)
    step = plan.measurements[0]
    assert (str(step.option), str(step.membership), step.floor) == ("per_cell", "public", 5)
    assert any("public" in w for w in plan.warnings)


def test_the_clamp_is_refused_unless_acknowledged_by_name():
    asked = request("individual", COUNT, epsilon=1, keys={"clamp": "data"})
    with pytest.raises(NotAllowed) as refusal:
        plan_of(domain(), asked, policy("individual"))
    assert "clamp_to_the_data" in refusal.value.message
    plan = plan_of(domain(), asked, policy("individual", "clamp_to_the_data"))
    assert any("give the exact count away" in w for w in plan.warnings)
    plain = plan_of(domain(), request("individual", COUNT, epsilon=1), policy("individual"))
    assert plain.law.kind == "additive"


def test_the_guarantee_travels_with_the_plan():
    plan = plan_of(domain(), request(), policy("bootstrap"))
    assert plan.account == "data-dependent"
    assert plan.neighbours.scope is Scope.OBSERVED_ROWS
    assert plan.reservation.epsilon == 1
    assert plan.law.kind == "withheld"
    assert not plan.evidence.is_strong
    assert any("Not protected:" in w for w in plan.warnings)
    individual = plan_of(
        domain(), request("individual", LIST, epsilon=1, keys={"measure": "median"}), policy("individual")
    )
    assert individual.neighbours.scope is Scope.ACTUAL_DATA


@pytest.mark.parametrize(
    "statistic", ["median", "quantile", "maximum", "minimum", "second_maximum", "range", "interquartile"]
)
@pytest.mark.parametrize("definition", ["individual", "bootstrap"])
def test_order_statistics(statistic, definition):
    keys = {"measure": statistic} | ({"q": "1/4"} if statistic == "quantile" else {})
    asked = request(definition, LIST, epsilon=1, keys=keys)
    plan = plan_of(domain(), asked, policy(definition))
    table = release(plan, [1, 2, 3, 4, 50])
    assert table.values.shape == (1,)
    assert np.isnan(table.variance).all()


@pytest.mark.parametrize(("keys", "q"), [({"measure": "median"}, "1/2"), ({"measure": "quantile", "q": "1/4"}, "1/4")])
def test_a_quantile_is_asked_for_as_a_measure(keys, q):
    asked = request("individual", {"of": "output"}, epsilon=1, keys=keys)
    assert plan_of(domain(), asked, policy("individual")).measurements[0].statistic.q == Fraction(q)


def test_unconfirmed_declarations_and_too_many_cells_are_refused():
    drafted = domain()
    unread = replace(drafted.variable("output"), is_confirmed=False)
    with pytest.raises(Unconfirmed):
        plan_of(replace(drafted, variables={**drafted.variables, "output": unread}), request(), policy("bootstrap"))
    tight = PolicyDocument.model_validate(
        {"allow": {"acknowledge": ["bootstrap"], "most_cells": 2}, "floors": {"output": 5}}
    )
    with pytest.raises(TooLarge):
        plan_of(domain(), request(), tight)


def test_normal_noise_within_epsilon_and_delta():
    plan = plan_of(domain(), request(epsilon=1, delta="1e-6"), policy("bootstrap"))
    assert 0 < plan.measurements[0].rho < 1
    with_rho = plan_of(domain(), request(rho="0.1"), policy("bootstrap"))
    assert with_rho.measurements[0].rho == Fraction(1, 10)


def test_refusals_say_what_would_be_accepted():
    known = policy("bootstrap", "individual")
    for asked, error in (
        (lambda: request("individual"), Unsupported),
        (lambda: request("bootstrap", COUNT, epsilon=1), Unsupported),
        (lambda: request(epsilon=1, keys={"measure": "modal"}), UnknownName),
        (lambda: request(epsilon=1, keys={"colour": "red"}), DocumentError),
        (lambda: request("individual", COUNT, epsilon=1, keys={"clamp": "maybe"}), UnknownName),
        (lambda: request("individual", LIST, epsilon=1, keys={"measure": "median", "among": ["x"]}), DocumentError),
        (lambda: request("bootstrap", LIST | {"measure": "mean"}, epsilon=1), Unsupported),
        (lambda: request("individual", LIST, rho="0.1", keys={"measure": "median"}), ParameterError),
        (lambda: request(epsilon=1, keys={"q": "1/3"}), DocumentError),
        (lambda: request("individual", COUNT, epsilon=1, group=2), Unsupported),
        (lambda: request("individual", LIST, epsilon=1, keys={"measure": "median", "q": "1/4"}), DocumentError),
        (lambda: request(epsilon=1, rho="0.1"), ParameterError),
        (lambda: request("bootstrap", LIST | {"weight": "output"}, epsilon=1), Unsupported),
        (lambda: request(epsilon=1, mechanism="discrete_laplace"), Unsupported),
        (lambda: request("bootstrap", LIST | {"rows": ["status"], "margins": "all"}, epsilon=1), Unsupported),
    ):
        with pytest.raises(error) as refusal:
            plan_of(domain(), asked(), known)
        assert isinstance(refusal.value, RequestError | PolicyError)


def release(plan, outputs, seed="seed"):
    status = [("owner", "share", "mixed")[i % 3] for i in range(len(outputs))]
    source = MemorySource.open(domain(), {"status": status, "output": outputs})
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
    return plan.assemble(passage.blocks)[0]


CALM, WILD = [10, 11, 12, 13, 14, 15], [10, 900_000, 12, 13, 777_777, 15]
SAME, NOBODY = [7] * 6, []


@pytest.mark.parametrize("definition", ["bootstrap", "individual"])
def test_nothing_but_the_values_differs_between_calm_and_wild_data(definition, caplog):
    """Plan, digest, block, law, grid, warnings and log lines are the same whatever the scale is."""
    caplog.set_level(logging.DEBUG)
    asked = request() if definition == "bootstrap" else request(definition, LIST, epsilon=1, keys={"measure": "median"})
    plan = plan_of(domain(), asked, policy(definition))
    digest, seen = plan_digest(plan, policy(definition)), []
    for outputs in (CALM, WILD, SAME, NOBODY):
        status = [("owner", "share", "mixed")[i % 3] for i in range(len(outputs))]
        source = MemorySource.open(domain(), {"status": status, "output": outputs})
        stages: list[str] = []
        passage = gate.run(
            plan, source, plan.neighbours, plan.reservation, RecordedRandomness("leak"), stage=stages.append
        )
        (block,) = passage.blocks
        (table,) = plan.assemble(passage.blocks)
        seen.append(
            json.dumps(
                {
                    "name": block.name,
                    "law": block.law.to_dict(),
                    "role": block.role,
                    "parameters": dict(block.parameters),
                    "shape": list(table.shape),
                    "variance": [str(v) for v in table.variance],
                    "stages": stages,
                    "silent": passage.is_silent,
                    "on the grid": bool(np.all(table.values == np.round(table.values))),
                }
            )
        )
        again = plan_of(domain(), asked, policy(definition))
        assert plan_digest(again, policy(definition)) == digest
    assert len(set(seen)) == 1
    text = " ".join([*(r.getMessage() for r in caplog.records), repr(plan.preview), *plan.warnings, *seen])
    for secret in ("900000", "777777", "899990", "1677777", "Fraction("):
        assert secret not in text


@pytest.mark.parametrize("outputs", [SAME, NOBODY, [1_000_000] * 6, [0]])
def test_zero_sensitivity_is_never_refused_and_never_exact(outputs):
    """With the floor of 5 and epsilon 1 the noise is visible: forty releases are not all the same."""
    plan = plan_of(domain(), request(), policy("bootstrap"))
    answers = {tuple(release(plan, outputs, f"zero {i}").values.tolist()) for i in range(40)}
    assert len(answers) > 30


@pytest.mark.statistical
def test_repeated_releases_do_reveal_the_scale():
    """What the warning says is true: the spread of forty answers tells calm from wild data."""
    plan = plan_of(domain(), request(), policy("bootstrap"))
    spread = [np.std([release(plan, data, f"repeat {i}").values[0] for i in range(40)]) for data in (CALM, WILD)]
    assert spread[1] > 1000 * spread[0]


def test_add_remove_domains_are_served():
    open_domain = domain(neighbours=replace(domain().neighbours, relation=Relation.ADD_REMOVE))
    plan = plan_of(open_domain, request(), policy("bootstrap"))
    assert plan.neighbours.relation is Relation.ADD_REMOVE
    asked = request("individual", LIST, epsilon=1, keys={"measure": "median"})
    assert plan_of(open_domain, asked, policy("individual")).reservation.epsilon == 1


def test_selection_of_the_largest_total():
    table = {"rows": ["status"], "measure": "total", "of": "output"}
    asked = request("bootstrap", table, epsilon=1, keys={"measure": "largest_total"})
    plan = plan_of(domain(), asked, policy("bootstrap"))
    found = release(plan, [5, 400, 3, 4, 410, 6] * 40)
    assert found.values.tolist() == [1]
