"""One order statistic of a list of values: by noise at the smooth sensitivity, or by noise at the data.

`method` names the noise at the smooth sensitivity (`cauchy`, `lomax`, `student`, `polynomial`, or `laplace_log_normal`
under rho), with an optional public `beta` and, for the last three, `shape`; quantiles also know `exponential` and
`unbounded`. Under individual and bootstrap privacy the noise follows the data and takes no method.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Any

from dalenius.core.contracts import Measurement
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import exp_lower, log_lower, rational
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.exact.smooth_noise import Cauchy, LaplaceLogNormal, Lomax, Polynomial, SmoothNoise, StudentT
from dalenius.measurements.local_laplace import LocalLaplace, LocalStatistic
from dalenius.measurements.smooth import Smooth, SmoothStatistic
from dalenius.methods._data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.plans.priced import limits_of, priced, selected
from dalenius.spec.document import Exact, Part, Whole
from dalenius.spec.question import Question

# Families of noise with a shape of their own: degrees of freedom, the exponent of the tail, the spread of the
# logarithm.
SHAPES = {"student": Fraction(3), "polynomial": Fraction(3), "laplace_log_normal": Fraction(1, 2)}
SMOOTH = ("cauchy", "lomax", *SHAPES)
METHODS = ("exponential", *SMOOTH)
MOST_SHAPE = 20


class OrderStatisticParameters(Part):
    """Keys of an extreme or a difference of order statistics."""

    method: str | None = None
    beta: Exact | None = None
    shape: Exact | None = None
    group_size: Whole = 1


def plan_order_statistic(
    question: Question, name: str, statistic: Callable[[], Any], *, is_difference: bool = False
) -> TablePlan:
    """At the data where the definition says so, otherwise at the smooth sensitivity."""
    if question.scope is not Scope.ALL_DATA:
        return plan_local(question, name, statistic(), is_difference=is_difference)
    assert not is_difference, "a difference has no route that holds everywhere"
    method = str(question.parameter("method", "exponential"))
    if method not in METHODS:
        raise UnknownName.among("method", method, METHODS)
    if method == "exponential":
        raise Unsupported(
            f"For the {name} name a method: one of {', '.join(SMOOTH)}; or ask for a quantile near the end."
        )
    return plan_smooth(question, name, statistic())


def plan_smooth(question: Question, name: str, statistic: SmoothStatistic) -> TablePlan:
    """Heavy-tailed noise at the smooth sensitivity."""
    method = str(question.parameter("method"))
    noise = _noise(question, method)
    measurement = Smooth(
        name=f"{name} of {question.of}", statistic=statistic, noise=noise, neighbours=question.neighbours
    )
    return plan_number(question, measurement, name, method, f"smooth {method}")


def _noise(question: Question, method: str) -> SmoothNoise:
    """The named family at the whole budget, with the declared or the usual smoothness."""
    epsilon, named_beta = _smooth_epsilon(question, method), question.parameter("beta")
    shape = Fraction(0)
    if method in SHAPES:
        shape = rational(question.parameter("shape", SHAPES[method]), "shape")
        if shape > MOST_SHAPE:
            raise ParameterError(f"shape is at most {MOST_SHAPE}.", name="shape")
    beta = default_beta(method, epsilon, shape) if named_beta is None else rational(named_beta, "beta")
    match method:
        case "cauchy":
            return Cauchy(epsilon, beta)
        case "lomax":
            return Lomax(epsilon, beta)
        case "student":
            return StudentT(epsilon, beta, shape)
        case "polynomial":
            return Polynomial(epsilon, beta, shape)
        case _:
            return LaplaceLogNormal(epsilon, beta, shape)


def _smooth_epsilon(question: Question, method: str) -> Fraction:
    """epsilon as given; for noise that is priced by rho = epsilon^2 / 2 the largest such epsilon, rounded down."""
    epsilon, rho = question.budget.epsilon, question.budget.rho
    if method == LaplaceLogNormal.name:
        if rho is None:
            raise ParameterError("Laplace-log-normal noise is priced by rho: use zero_concentrated.", name="rho")
        return Fraction(isqrt((2 * rho.numerator << 80) // rho.denominator), 1 << 40)
    if epsilon is None:
        raise ParameterError("Noise at the smooth sensitivity needs epsilon.", name="epsilon")
    return epsilon


def plan_number(question: Question, measurement: Measurement, name: str, method: str, mechanism: str) -> TablePlan:
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


def plan_local(question: Question, name: str, statistic: LocalStatistic, *, is_difference: bool = False) -> TablePlan:
    """Laplace noise at the sensitivity of the data at hand, never below the declared floor."""
    least, epsilon = floor(question), epsilon_alone(question)
    if question.space.axes:
        raise Unsupported("An order statistic is served for one list of values; use where, not rows or columns.")
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
    size = rational(question.parameter("group_size", 1), "group_size")
    if size.denominator != 1 or not 1 <= size <= 1000:
        raise ParameterError("group_size must be a whole number from 1 to 1000.", name="group_size")
    return int(size)


def default_beta(method: str, epsilon: Fraction, shape: Fraction = Fraction(0)) -> Fraction:
    """Cauchy: log(2 cosh eps - 1), which costs nothing, rounded down; others a part of what their tails allow. Never
    beyond what is served.
    """
    match method:
        case "lomax":
            return epsilon / 5
        case "student":
            return epsilon / (3 * max(shape, Fraction(1)))
        case "polynomial":
            return epsilon / (4 * max(shape - 1, Fraction(1)))
        case "laplace_log_normal":
            return epsilon * shape * 2 / 5
    free = exp_lower(epsilon) + exp_lower(-epsilon) - 1
    return min(Fraction(log_lower(free, 40) * 999, 1000), epsilon * Fraction(99, 100), Fraction(20))
