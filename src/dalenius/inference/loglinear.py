"""Log-linear models of noisy tables, and logistic regression: docs/reference/inference/loglinear.md."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, inf, nan, sqrt
from typing import Annotated, Any

import numpy as np
from scipy.special import chdtrc

from dalenius.core.estimate import Estimate, Interval, p_words, short
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError, UnknownName
from dalenius.inference import formula as formulas
from dalenius.inference.calibration import is_safe
from dalenius.inference.fitting import Fit, degrees_of_freedom, fit_one, saturated_log_likelihood
from dalenius.inference.formula import Model
from dalenius.inference.independence import sampling_note
from dalenius.inference.observe import Seen, Source, observe
from dalenius.inference.parameters import AxisName
from dalenius.inference.profile import FARTHEST, coefficient_interval, covariance
from dalenius.inference.question import Hint
from dalenius.rendering import Axes, figure, finish, grid, two_lines

_MOST_PRINTED = 40


@dataclass(frozen=True, eq=False, kw_only=True)
class LoglinearFit:
    """A fitted model. `coefficients` are on the log scale, first labels as reference."""

    model: Model
    observation: Seen
    fit: Fit
    design: FloatArray
    labels: tuple[str, ...]
    deviance: float
    degrees_of_freedom: int
    shown: tuple[str, ...] = ()

    @property
    def fitted(self) -> FloatArray:
        return self.fit.mean

    @property
    def log_likelihood(self) -> float:
        """At the maximum (minus half the distance for joint laws)."""
        return self.fit.log_likelihood

    @property
    def covariance(self) -> FloatArray:
        return covariance(self.fit)

    @property
    def p_value(self) -> float | None:
        """Of the deviance against chi-square where that is safe; use `compare` for a simulated one."""
        if self.degrees_of_freedom < 1 or not is_safe(self.observation, self.fitted):
            return None
        return float(chdtrc(self.degrees_of_freedom, max(self.deviance, 0.0)))

    def coefficient(self, label: str, *, confidence: float = 0.95, interval: str = "profile") -> Estimate:
        """One coefficient with its standard error, and a profile-likelihood interval unless `interval` is "none"."""
        UnknownName.check("coefficient", label, self.labels)
        place = self.labels.index(label)
        contrast = np.zeros(len(self.labels))
        contrast[place] = 1.0
        made: Interval | None = None
        if interval == "profile":
            made = coefficient_interval(self.observation, self.design, self.fit, contrast, confidence=confidence)
        elif interval != "none":
            raise ParameterError(f"interval must be 'profile' or 'none'; received {interval!r}.")
        return Estimate(
            name=label,
            value=float(self.fit.coefficients[place]),
            std_error=sqrt(max(float(self.covariance[place, place]), 0.0)),
            interval=made,
            assumptions=(sampling_note(self.observation), *self.observation.notes),
        )

    @property
    def coefficients(self) -> Mapping[str, Estimate]:
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        # A column that lives on structural zeros alone cannot be estimated.
        errors[~self.design[self.observation.possible.reshape(-1)].any(0)] = nan
        return {
            label: Estimate(name=label, value=float(b), std_error=float(e))
            for label, b, e in zip(self.labels, self.fit.coefficients, errors, strict=True)
        }

    @property
    def _listed(self) -> list[Estimate]:
        return [e for e in self.coefficients.values() if not self.shown or e.name in self.shown]

    def odds_ratio(self, label: str, *, confidence: float = 0.95) -> Estimate:
        """exp of a coefficient, with a profile-likelihood interval."""
        log = self.coefficient(label, confidence=confidence)
        return exponentiated(log, f"odds ratio {label}")

    def __str__(self) -> str:
        p = self.p_value
        free = self.degrees_of_freedom
        tail = "p-value not shown (chi-square not safe at this noise)" if p is None else f"p-value {p_words(p)}"
        fit = f"deviance {short(self.deviance)} on {free} degree{'' if free == 1 else 's'} of freedom, {tail}"
        lines = [
            f"Log-linear model {self.model.notation} of {' x '.join(self.observation.names)}",
            f"  {fit if free > 0 else 'saturated: as many coefficients as cells, nothing left to test'}",
        ]
        table = self._listed
        width = max([40, *(len(e.name) for e in table[:_MOST_PRINTED])])
        lines.append(f"  {'coefficient':{width}s} {'estimate':>10s} {'std. error':>10s}")
        lines += [f"  {e.name:{width}s} {_cell(e)}" for e in table[:_MOST_PRINTED]]
        if len(table) > _MOST_PRINTED:
            lines.append(f"  … and {len(table) - _MOST_PRINTED} more")
        return "\n".join([*lines, f"  {sampling_note(self.observation)}", *(f"  {n}" for n in self.observation.notes)])

    def to_dict(self) -> dict[str, Any]:
        stated = ("deviance", "degrees_of_freedom", "p_value", "log_likelihood")
        coefficients = self.coefficients.values()
        return {
            "model": str(self.model),
            "notation": self.model.notation,
            "axes": list(self.observation.names),
            **{name: getattr(self, name) for name in stated},
            "coefficients": [{"name": e.name, "value": e.value, "std_error": e.std_error} for e in coefficients],
            "fitted": self.fitted.reshape(-1).tolist(),
            "assumptions": [sampling_note(self.observation), *self.observation.notes],
        }

    def __repr__(self) -> str:
        return two_lines(*(line.strip() for line in str(self).split("\n")[:2]))

    def _repr_html_(self) -> str:
        lines = [[e.name, short(e.value), short(e.std_error)] for e in self._listed]
        first, *rest = (line.strip() for line in str(self).split("\n")[:2])
        return grid(first, ["Coefficient", "Value", "Standard error"], lines, labels=1, notes=rest)

    def plot(self, path: object = None) -> Axes:
        """Coefficients with two standard errors."""
        table = [e for e in self._listed if e.name != "(all)"]
        axes = figure(path, height=1 + 0.22 * len(table))
        place = np.arange(len(table))[::-1]
        axes.errorbar([e.value for e in table], place, xerr=[2 * e.std_error for e in table], fmt="o", markersize=3)
        axes.set_yticks(place, [e.name for e in table], fontsize="x-small")
        axes.axvline(0, color="0.7", linewidth=0.8)
        axes.set_xlabel("coefficient, two standard errors")
        return finish(axes, path)


def _cell(estimate: Estimate) -> str:
    if estimate.std_error != estimate.std_error:
        return f"{'not estimable':>21s}"
    return f"{estimate.value:10.4f} {estimate.std_error:10.4f}"


def exponentiated(log: Estimate, name: str) -> Estimate:
    """An estimate on the log scale, as a ratio."""
    made = log.interval and replace(log.interval, lower=_exp(log.interval.lower), upper=_exp(log.interval.upper))
    # A fit at the boundary has no finite ratio, and no standard error; its interval still has one end.
    value = _exp(log.value) if abs(log.value) <= FARTHEST else (inf if log.value > 0 else 0.0)
    error = value * log.std_error if abs(log.value) <= FARTHEST else nan
    return Estimate(name=name, value=value, std_error=error, interval=made, assumptions=log.assumptions)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else float("inf")


def loglinear(
    source: Source,
    model: Annotated[str, Hint(help='A formula, such as "A*B + C".', is_positional=True)],
    *axes: AxisName,
    total: int | None = None,
) -> LoglinearFit:
    """Fit a log-linear model."""
    observation = observe(source, *axes, total=total, takes_weights=True)
    return _fitted(observation, formulas.model(model, observation.names))


def _fitted(observation: Seen, chosen: Model) -> LoglinearFit:
    matrix, labels = formulas.design(chosen, observation.axes)
    fit = fit_one(observation, chosen)
    return LoglinearFit(
        model=chosen,
        observation=observation,
        fit=fit,
        design=matrix,
        labels=tuple(labels),
        deviance=2 * (saturated_log_likelihood(observation) - fit.log_likelihood),
        degrees_of_freedom=degrees_of_freedom(chosen, None, observation, fit.mean),
    )


def logistic(
    source: Source,
    outcome: Annotated[str, Hint(help="The axis whose odds are explained.", is_positional=True)],
    predictors: Annotated[str, Hint(help='A formula of the other axes, such as "A + B".', is_positional=True)],
    *axes: AxisName,
) -> LoglinearFit:
    """Fit a logistic regression of a categorical outcome on other axes.

    Of several categories it is a baseline-category regression. It is fitted through its log-linear form.
    The predictors' joint distribution is left free; coefficients that name the outcome are the log odds ratios.
    """
    observation = observe(source, *axes)
    UnknownName.check("axis", outcome, observation.names)
    own = observation.names.index(outcome)
    effects = formulas.model(predictors, observation.names)
    if any(own in term for term in effects.terms):
        raise ParameterError("The outcome cannot be among its own predictors.")
    others = frozenset(k for k in range(len(observation.names)) if k != own)
    terms = formulas.closed([others, *(term | {own} for term in effects.terms)])
    whole = _fitted(observation, Model(terms, observation.names))
    prefix = f"{outcome}["
    shown = tuple(label for label in whole.labels if any(part.startswith(prefix) for part in label.split(":")))
    return replace(whole, observation=observation, shown=shown)
