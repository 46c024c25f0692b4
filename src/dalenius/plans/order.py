"""Order statistics of one numeric variable: quantiles, extremes and their differences, by the route of a request.

Without `method` quantiles have certified intervals (`plans/quantiles.py`). `method` names a step without an error:
`exponential` spends the whole budget on a selection and `unbounded` goes up a public list of thresholds, both for
quantiles alone; `cauchy`, `lomax`, `student`, `polynomial`, or `laplace_log_normal` under rho, is noise at the smooth
sensitivity, with an optional public `beta` and, for the last three, `shape` in [privacy.noise]. Under individual and
bootstrap privacy the noise follows the data and takes no method.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any, TypeVar

from dalenius.algebra.ranks import WholeList
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import ValuesQuery
from dalenius.core.rationals import exp_lower, log_lower, plain
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.exact.quantile_selection import Score
from dalenius.exact.smooth_noise import Cauchy, LaplaceLogNormal, Lomax, Polynomial, SmoothNoise, StudentT
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.measurements.smooth import Smooth
from dalenius.measurements.unbounded_quantile import GROWTH, UnboundedQuantile
from dalenius.plans.cells import cell_queries
from dalenius.plans.data_dependent import epsilon_alone, floor, plan_withheld
from dalenius.plans.design import SAMPLING
from dalenius.plans.priced import limits_of, priced, selected, selection_epsilon
from dalenius.plans.quantiles import plan_quantiles
from dalenius.spec.document import Exact, Part, usual
from dalenius.spec.keys import HALF, ErrorKey, MethodKey
from dalenius.spec.method import Method
from dalenius.spec.notes import note
from dalenius.spec.question import Question

EXPONENTIAL, UNBOUNDED = "exponential", "unbounded"
# Families of noise with a shape of their own: degrees of freedom, the exponent of the tail, the spread of the
# logarithm.
SHAPES = {"student": Fraction(3), "polynomial": Fraction(3), "laplace_log_normal": Fraction(1, 2)}
SMOOTH = ("cauchy", "lomax", *SHAPES)
MOST_SHAPE = 20
P = TypeVar("P", bound=Part)


class ExtremeKeys(MethodKey):
    """Keys of an extreme or a difference of order statistics."""


class SmoothKeys(Part, section="[privacy.noise] of a smooth sensitivity"):
    """Parameters of noise at the smooth sensitivity."""

    beta: Exact | None = usual(None, "How fast the smooth sensitivity may grow with the distance to the data.")


class ShapedKeys(SmoothKeys):
    """Parameters of noise with a shape."""

    shape: Exact | None = usual(None, "Exponent of the tail, degrees of freedom, or spread of the logarithm.")


class ThresholdKeys(Part, section="[privacy.noise] of unbounded"):
    """Parameters of a quantile among thresholds."""

    growth: Exact = usual(GROWTH, "By which factor thresholds grow.")


class SelectionKeys(Part, section="[privacy.noise] of exponential"):
    """Parameters of a selection."""

    score: Score = usual(
        Score.DEPTH,
        "How candidates are judged: by the depth of their interval of ranks, or by their distance from the rank.",
    )


class QuantileKeys(ErrorKey, ExtremeKeys):
    """Keys of one quantile."""


@dataclass(eq=False, kw_only=True)
class OrderMethod(Method):
    """Order statistics of a variable: quantiles at `ranks`, each between certified ends, or one `statistic` alone.

    A statistic has noise at the data, and unless it `is_difference` also at the smooth sensitivity; one quantile has
    both ranks and a statistic.
    """

    ranks: Callable[[Question], tuple[Fraction, ...]] | None = None
    is_difference: bool = False
    Parameters: type[Part] = ExtremeKeys
    plan: Callable[[Question], TablePlan] = field(init=False)
    scopes: tuple[Scope, ...] = field(init=False)
    has_error: bool = field(init=False)
    takes_weight: bool = field(init=False)
    without_error: tuple[str, ...] = field(init=False)
    usual_error: str = field(init=False)
    noises: Mapping[str, type[Part]] = field(init=False)

    def __post_init__(self) -> None:
        self.plan, self.has_error, self.takes_weight = self._plan, self.ranks is not None, self.ranks is not None
        at_hand = () if self.statistic is None else (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)
        self.scopes = (*(() if self.is_difference else (Scope.ALL_DATA,)), *at_hand)
        self.usual_error = "" if at_hand else "sampling"
        smooth = {name: ShapedKeys if name in SHAPES else SmoothKeys for name in SMOOTH}
        self.noises = {EXPONENTIAL: SelectionKeys, UNBOUNDED: ThresholdKeys, **smooth} if self.has_error else smooth
        self.without_error = ("method",) if self.has_error and at_hand else ()

    def _plan(self, question: Question) -> TablePlan:
        """At the data where the definition says so, between certified ends, or by the method that is named."""
        name, statistic = self.name, self.statistic
        if question.scope is not Scope.ALL_DATA:
            assert statistic is not None, "quantiles alone have one scope"
            return _plan_local(question, name, statistic(question), is_difference=self.is_difference)
        shares = None if self.ranks is None else self.ranks(question)
        if statistic is None:
            assert shares is not None, "what has no statistic has ranks"
            return plan_quantiles(question, shares, name)
        method, methods = question.parameter("method"), (EXPONENTIAL, *SMOOTH)
        if shares is not None:
            methods = (*methods, UNBOUNDED)
            if method is None:
                return plan_quantiles(question, shares, measure_of(*shares))
            if method == UNBOUNDED:
                return _plan_number(question, _unbounded(question, name, *shares), name, UNBOUNDED, UNBOUNDED)
            if method == EXPONENTIAL:
                return _plan_selected(question, name, *shares)
        elif method in (None, EXPONENTIAL):
            raise Unsupported(
                f"For the {name} name a method: one of {', '.join(SMOOTH)}; or ask for a quantile near the end."
            )
        if method not in methods:
            raise UnknownName.among("method", str(method), methods)
        return _plan_smooth(question, name, str(method), statistic(question))


def measure_of(share: Fraction) -> str:
    return "median" if share == HALF else f"quantile {plain(share)}"


def without_implied(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys without the error of sampling, which certified intervals have."""
    return {key: value for key, value in keys.items() if "method" in keys or (key, value) != ("error", SAMPLING)}


def _stated(question: Question, kind: type[P]) -> P:
    """Return what [privacy.noise] says of the method, if it is not about a mechanism, which no method uses."""
    noise = question.noise
    return noise if isinstance(noise, kind) else kind()


def _plan_selected(question: Question, name: str, share: Fraction) -> TablePlan:
    """One selection, or one for each cell, with all of the budget and no error."""
    bounds, space, is_table = question.bounds, question.space, bool(question.space.axes)
    what = measure_of(share) if is_table else name
    measurement = GridSelection(
        name=f"{what} of {question.of}",
        space=space,
        queries=cell_queries(question.domain, question.of, space, question.where),
        low=bounds.low,
        high=bounds.high,
        epsilons=(selection_epsilon(question.budget, 1),),
        neighbours=question.neighbours,
        targets=WholeList(qs=(share,)),
        step=bounds.step,
        score=_stated(question, SelectionKeys).score,
        axis=None if is_table else Axis(variable=question.of, labels=(f"quantile {plain(share)}",)),
    )
    if not is_table:
        return _plan_number(question, measurement, name, EXPONENTIAL, "grid_selection")
    return priced(
        question,
        (measurement,),
        selected(what, bounds.step),
        mechanism="grid_selection",
        strategy="selection",
        preview={"cells": space.size, "law": measurement.law.to_dict(), "step": plain(bounds.step)},
        warnings=(note("selected_median"),),
        refusal=f"Medians are selections of bounded loss; they do not fit {question.budget.definition!r} here.",
    )


def _unbounded(question: Question, name: str, share: Fraction) -> UnboundedQuantile:
    """From the lower bound up a public list of thresholds."""
    if question.budget.epsilon is None:
        raise ParameterError("Thresholds are priced by epsilon; use pure.", name="epsilon")
    return UnboundedQuantile(
        name=f"{name} of {question.of}",
        query=ValuesQuery(value=question.of, where=question.where),
        low=question.bounds.low,
        high=question.bounds.high,
        epsilon=question.budget.epsilon,
        neighbours=question.neighbours,
        q=share,
        growth=_stated(question, ThresholdKeys).growth,
        step=question.bounds.step,
    )


def _plan_smooth(question: Question, name: str, method: str, statistic: Any) -> TablePlan:
    """Heavy-tailed noise at the smooth sensitivity."""
    noise = _noise(question, method)
    measurement = Smooth(
        name=f"{name} of {question.of}", statistic=statistic, noise=noise, neighbours=question.neighbours
    )
    return _plan_number(question, measurement, name, method, f"smooth {method}")


def _noise(question: Question, method: str) -> SmoothNoise:
    """The named family at the whole budget, with the declared or the usual smoothness."""
    epsilon, stated = _smooth_epsilon(question, method), _stated(question, SmoothKeys)
    named_beta, named_shape = stated.beta, getattr(stated, "shape", None)
    shape = Fraction(0)
    if method in SHAPES:
        shape = SHAPES[method] if named_shape is None else named_shape
        if shape > MOST_SHAPE:
            raise ParameterError(f"shape is at most {MOST_SHAPE}.", name="shape")
    beta = default_beta(method, epsilon, shape) if named_beta is None else named_beta
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


def _plan_number(question: Question, measurement: Measurement, name: str, method: str, mechanism: str) -> TablePlan:
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


def _plan_local(question: Question, name: str, statistic: Any, *, is_difference: bool) -> TablePlan:
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
        group=question.group,
    )
    limits = limits_of(question, is_difference=is_difference)
    return plan_withheld(question, measurement, name, question.bounds.step, limits=limits)
