"""Quantiles and extremes under plain differential privacy, from request to table."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Bounds, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, DocumentError, ParameterError, UnknownName, Unsupported
from dalenius.exact.smooth_noise import Cauchy
from dalenius.plans.order import default_beta
from dalenius.spec.request import RequestDocument
from dalenius.testing.asking import plan_of

F = Fraction


def domain(relation=Relation.ADD_REMOVE) -> Domain:
    bounds = Bounds(lower=F(0), upper=F(1000), step=F(1, 2), missing="0")
    return Domain(
        name="d",
        population="p",
        version="1",
        variables={"x": Variable(name="x", domain=bounds)},
        neighbours=Neighbours(relation=relation),
    )


def request(definition="pure", amounts=None, measure="total", **keys) -> RequestDocument:
    return RequestDocument.model_validate(
        {
            "table": {"measure": measure, "of": "x", **keys},
            "privacy": {"definition": definition, **(amounts or {"epsilon": 2})},
        }
    )


def plan(asked, relation=Relation.ADD_REMOVE):
    return plan_of(domain(relation), asked)


def released(planned, relation=Relation.ADD_REMOVE):
    values = np.linspace(100, 300, 801).round(1).tolist()
    source = MemorySource.open(domain(relation), {"x": values})
    neighbours = domain(relation).neighbours
    passage = gate.run(planned, source, neighbours, planned.reservation, RecordedRandomness("order"))
    return planned.assemble(passage.blocks)[0]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("method", ["exponential", "cauchy", "lomax", "student", "polynomial"])
def test_medians_by_every_method(method, relation):
    planned = plan(request(measure="median", method=method), relation=relation)
    assert planned.reservation.epsilon == 2
    table = released(planned, relation)
    assert abs(table.values[0] - 200) < 60
    assert (table.values[0] * 2) % 1 == 0
    assert np.isnan(table.variance).all()


@pytest.mark.parametrize(("statistic", "expected"), [("maximum", 300), ("second_maximum", 300), ("minimum", 100)])
def test_extremes(statistic, expected):
    with pytest.raises(Unsupported):
        plan(request(measure=statistic))
    table = released(plan(request(amounts={"epsilon": 20}, measure=statistic, method="cauchy")))
    assert abs(table.values[0] - expected) <= 5
    assert table.measure == statistic


def test_a_quartile_under_zero_concentrated_privacy():
    asked = request("zero_concentrated", {"rho": "0.5"}, measure="quantile", q="1/4", method="exponential")
    planned = plan(asked)
    assert planned.measurements[0].epsilons == (2,)
    assert planned.reservation.rho <= F(1, 2)
    assert abs(released(planned).values[0] - 150) < 20


@pytest.mark.parametrize("relation", list(Relation))
def test_laplace_log_normal_noise_is_priced_by_rho(relation):
    asked = request("zero_concentrated", {"rho": 2}, measure="median", method="laplace_log_normal")
    planned = plan(asked, relation=relation)
    assert planned.measurements[0].noise.epsilon == 2 and planned.reservation.rho == 2
    assert abs(released(planned, relation).values[0] - 200) < 60
    with pytest.raises(ParameterError, match="rho"):
        plan(request(measure="median", method="laplace_log_normal"))


@pytest.mark.parametrize("method", ["student", "polynomial", "laplace_log_normal"])
def test_every_shape_has_a_beta_that_serves_it(method):
    pure = method != "laplace_log_normal"
    for shape in ("1", "3/2", "3", "8", "20"):
        definition, amounts = ("pure", {"epsilon": 1}) if pure else ("zero_concentrated", {"rho": "1/2"})
        asked = request(definition, amounts | {"noise": {"shape": shape}}, measure="median", method=method)
        if method == "polynomial" and shape == "1":
            with pytest.raises(ParameterError):
                plan(asked)
        else:
            assert plan(asked).measurements[0].noise.scale > 0
    with pytest.raises(ParameterError, match="shape"):
        plan(request(definition, amounts | {"noise": {"shape": "21"}}, measure="median", method=method))
    with pytest.raises(DaleniusError):
        plan(request("pure", {"epsilon": 2, "noise": {"shape": "3"}}, measure="median", method="cauchy"))


def test_default_beta_costs_nothing():
    for epsilon in (F(1, 10), F(1), F(3)):
        free = Cauchy(epsilon, default_beta("cauchy", epsilon)).scale
        least = Cauchy(epsilon, F(1, 1000)).scale
        assert float(free / least) == pytest.approx(1, abs=1e-9)


def test_refusals():
    for asked, error in (
        (lambda: request(measure="modal"), UnknownName),
        (lambda: request(measure="median", method="magic"), UnknownName),
        (lambda: request(measure="median", colour="red"), DocumentError),
        (lambda: request("zero_concentrated", {"rho": "0.5"}, measure="median", method="lomax"), ParameterError),
    ):
        with pytest.raises(error):
            plan(asked())
    persons = replace(domain(), neighbours=Neighbours(unit="person", max_rows=3))
    asked = request(measure="median", method="lomax")
    with pytest.raises(Unsupported):
        plan_of(persons, asked)
