"""Plans for quantiles and extremes under plain differential privacy: looks at documents, never at data.

A request asks for one with `options = { statistic = "median" }` (or `quantile` with `q`, `maximum`, `minimum`,
`second_maximum`) beside `measure = "total"` and `of`. The method is the exponential mechanism unless `method` names
`cauchy` or `lomax` noise at the smooth sensitivity, with an optional public `beta`.
"""

from fractions import Fraction
from math import isqrt

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Measurement
from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.core.query import Filter, ValuesQuery
from dalenius.core.rationals import exp_lower, log_lower, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.exact.smooth_noise import Cauchy, Lomax
from dalenius.measurements.exponential_quantile import ExponentialQuantile
from dalenius.measurements.smooth import Smooth, SmoothStatistic
from dalenius.spec.request import RequestDocument
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.quantile import Quantile

STATISTICS = ("median", "quantile", "maximum", "minimum", "second_maximum")
METHODS = ("exponential", "cauchy", "lomax")
_OPTIONS = ("statistic", "q", "method", "beta")


def asks_for_order_statistic(request: RequestDocument) -> bool:
    """Whether a request names a statistic of this module."""
    return request.privacy.options.get("statistic") in STATISTICS


def plan_order_statistic(
    domain: Domain,
    request: RequestDocument,
    where: tuple[Filter, ...],
    budget: Budget,
    definition: Definition,
) -> TablePlan:
    """A priced plan for one number."""
    options, of = request.privacy.options, request.table.of
    for name in options:
        if name not in _OPTIONS:
            raise UnknownName.among("option", name, _OPTIONS)
    name, method = str(options.get("statistic", "median")), str(options.get("method", "exponential"))
    if name not in STATISTICS:
        raise UnknownName.among("statistic", name, STATISTICS)
    if method not in METHODS:
        raise UnknownName.among("method", method, METHODS)
    if of is None or request.table.items:
        raise Unsupported(
            'An order statistic needs measure = "total", of = "variable", and neither rows nor columns.'
        )
    if request.table.weight is not None or request.privacy.mechanism or request.privacy.strategy:
        raise Unsupported("An order statistic takes no weight; its method is named in options.")
    q = rational(options.get("q", Fraction(1, 2)), "q") if name == "quantile" else Fraction(1, 2)
    bounds = domain.variable(of).bounds
    measurement: Measurement
    if method == "exponential":
        if name in ("maximum", "minimum", "second_maximum"):
            raise Unsupported(
                f"For the {name} name a method: 'cauchy' or 'lomax'; or ask for a quantile near the end."
            )
        measurement = ExponentialQuantile(
            name=f"{name} of {of}",
            query=ValuesQuery(value=of, where=where),
            low=bounds.low,
            high=bounds.high,
            epsilon=_selection_epsilon(budget),
            neighbours=domain.neighbours,
            q=q,
            step=bounds.step,
        )
    else:
        statistic: SmoothStatistic = {
            "maximum": lambda: Extreme.of(domain, of, where=where),
            "minimum": lambda: Extreme.of(domain, of, is_largest=False, where=where),
            "second_maximum": lambda: Extreme.of(domain, of, rank=2, where=where),
        }.get(name, lambda: Quantile.of(domain, of, q, where))()
        epsilon = _epsilon(budget)
        beta = rational(options["beta"], "beta") if "beta" in options else default_beta(method, epsilon)
        noise = Cauchy(epsilon, beta) if method == "cauchy" else Lomax(epsilon, beta)
        measurement = Smooth(
            name=f"{name} of {of}", statistic=statistic, noise=noise, neighbours=domain.neighbours
        )
    profile = measurement.profile(domain.neighbours)
    if not definition.fits([profile], budget):
        raise Unsupported(f"The method {method!r} does not fit {budget.definition!r} at this budget.")
    step = float(bounds.step)

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        (block,) = blocks
        values = np.asarray(block.values * step, dtype=np.float64)
        unknown = np.full(block.space.size, np.nan)
        return (
            Table(
                name=block.name,
                space=block.space,
                values=values,
                variance=unknown,
                measure=name,
                is_unbiased=False,
            ),
        )

    return TablePlan(
        measurements=(measurement,),
        assemble=assemble,
        law=measurement.law,
        reservation=definition.cost([profile]),
        budget=budget,
        mechanism="exponential" if method == "exponential" else f"smooth {method}",
        strategy="order_statistic",
        evidence=measurement.evidence,
        preview={"cells": 1, "statistic": name, "method": method, "law": measurement.law.to_dict()},
    )


def default_beta(method: str, epsilon: Fraction) -> Fraction:
    """Cauchy: log(2 cosh eps - 1), which costs nothing, rounded down; Lomax: eps / 5. Never beyond what is served."""
    if method == "lomax":
        return epsilon / 5
    free = exp_lower(epsilon) + exp_lower(-epsilon) - 1
    return min(Fraction(log_lower(free, 40) * 999, 1000), epsilon * Fraction(99, 100), Fraction(20))


def _epsilon(budget: Budget) -> Fraction:
    if budget.epsilon is None:
        raise ParameterError("Noise at the smooth sensitivity needs epsilon.", name="epsilon")
    return budget.epsilon


def _selection_epsilon(budget: Budget) -> Fraction:
    """epsilon as given; from rho, the largest epsilon with epsilon^2 / 8 <= rho, rounded down."""
    if budget.rho is None:
        return _epsilon(budget)
    square = 8 * budget.rho
    return Fraction(isqrt((square.numerator << 80) // square.denominator), 1 << 40)
