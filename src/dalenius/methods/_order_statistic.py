"""One order statistic of a list of values: by noise at the smooth sensitivity, or by noise at the data.

`method` names `cauchy` or `lomax` noise at the smooth sensitivity, with an optional public `beta`; quantiles also know
`exponential`. Under individual and bootstrap privacy the noise follows the data and takes no method.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dalenius.core.contracts import Measurement
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import exp_lower, log_lower, rational
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.exact.smooth_noise import Cauchy, Lomax
from dalenius.measurements.local_laplace import LocalLaplace, LocalStatistic
from dalenius.measurements.smooth import Smooth, SmoothStatistic
from dalenius.methods._data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.methods._priced import limits_of, priced, selected
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.question import Question

METHODS = ("exponential", "cauchy", "lomax")


class OrderStatisticParameters(Part):
    """Keys of an extreme or a difference of order statistics."""

    section: ClassVar[str] = "[table] of an order statistic"

    method: str | None = None
    beta: Exact | None = None
    group: Whole = 1


def order_statistic_written(name: str) -> Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]:
    """The older spelling, under which these requests are kept."""
    return lambda parameters: ("total", {"statistic": name, **parameters})


def plan_order_statistic(
    question: Question, name: str, statistic: Callable[[], Any], *, is_difference: bool = False
) -> TablePlan:
    """At the data where the definition says so, otherwise at the smooth sensitivity."""
    if question.scope is not Scope.EVERYWHERE:
        return plan_local(question, name, statistic(), is_difference=is_difference)
    assert not is_difference, "a difference has no route that holds everywhere"
    method = str(question.parameter("method", "exponential"))
    if method not in METHODS:
        raise UnknownName.among("method", method, METHODS)
    if method == "exponential":
        raise Unsupported(
            f"For the {name} name a method: 'cauchy' or 'lomax'; or ask for a quantile near the end."
        )
    return plan_smooth(question, name, statistic())


def plan_smooth(question: Question, name: str, statistic: SmoothStatistic) -> TablePlan:
    """Heavy-tailed noise at the smooth sensitivity."""
    method, epsilon = str(question.parameter("method")), question.budget.epsilon
    if epsilon is None:
        raise ParameterError("Noise at the smooth sensitivity needs epsilon.", name="epsilon")
    named_beta = question.parameter("beta")
    beta = default_beta(method, epsilon) if named_beta is None else rational(named_beta, "beta")
    noise = Cauchy(epsilon, beta) if method == "cauchy" else Lomax(epsilon, beta)
    measurement = Smooth(
        name=f"{name} of {question.of}", statistic=statistic, noise=noise, neighbours=question.neighbours
    )
    return plan_number(question, measurement, name, method, f"smooth {method}")


def plan_number(
    question: Question, measurement: Measurement, name: str, method: str, mechanism: str
) -> TablePlan:
    """One number whose error is not published."""
    return priced(
        question,
        (measurement,),
        selected(name, question.bounds.step),
        mechanism=mechanism,
        strategy="order_statistic",
        preview={"cells": 1, "statistic": name, "method": method, "law": measurement.law.to_dict()},
        limits=limits_of(question),
        refusal=f"The method {method!r} does not fit {question.budget.definition!r} at this budget.",
    )


def plan_local(
    question: Question, name: str, statistic: LocalStatistic, *, is_difference: bool = False
) -> TablePlan:
    """Laplace noise at the sensitivity of the data at hand, never below the declared floor."""
    least, epsilon = floor(question), epsilon_alone(question)
    if question.space.axes:
        raise Unsupported(
            "An order statistic is served for one list of values; use where, not rows or columns."
        )
    measurement = LocalLaplace(
        name=f"{name} of {question.of}",
        statistic=statistic,
        epsilon=epsilon,
        neighbours=question.neighbours,
        floor=least,
        group=_group(question),
    )
    limits = limits_of(question, is_difference=is_difference)
    return plan_withheld(question, measurement, name, question.bounds.step, limits=limits)


def _group(question: Question) -> int:
    size = rational(question.parameter("group", 1), "group")
    if size.denominator != 1 or not 1 <= size <= 1000:
        raise ParameterError("group must be a whole number from 1 to 1000.", name="group")
    return int(size)


def default_beta(method: str, epsilon: Fraction) -> Fraction:
    """Cauchy: log(2 cosh eps - 1), which costs nothing, rounded down; Lomax: eps / 5. Never beyond what is served."""
    if method == "lomax":
        return epsilon / 5
    free = exp_lower(epsilon) + exp_lower(-epsilon) - 1
    return min(Fraction(log_lower(free, 40) * 999, 1000), epsilon * Fraction(99, 100), Fraction(20))
