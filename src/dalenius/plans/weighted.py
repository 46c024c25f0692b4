"""Plans for tables of survey weights: the weighted counts, and a second, charged table of squared weights.

The design-based variance of a weighted count is confidential too, so it is estimated from a table of its own. Under
Poisson sampling with inclusion probability 1/w the variance of a cell is sum w (w - 1); both sums are released with
noise.
"""

from fractions import Fraction

from dalenius.core.domain import Bounds
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.errors import Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import additive_table, priced, share
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.weighted_count import WeightedCount

# What a policy acknowledges to say that survey weights were fixed without looking at the sample.
FIXED_WEIGHTS = "fixed_weights"
SHARE_FOR_VARIANCE = Fraction(1, 10)


def fixed_weight(question: Question, *variables: str) -> tuple[str, Bounds]:
    """The weight and its bounds, where the custodian declares that weights are fixed and none is negative; a refusal
    elsewhere, and where it is one of the variables that are weighted by it, or all weights are 0.
    """
    weight, is_fixed = str(question.weight), FIXED_WEIGHTS in question.policy.allow.acknowledge
    WeightedCount.of(question.domain, weight, question.space, is_fixed=is_fixed)
    bounds = question.domain.variable(weight).bounds
    if not variables:
        return weight, bounds
    names = [weight, *variables, *(axis.variable for axis in question.space.axes)]
    if len(set(names)) != len(names):
        raise Unsupported(
            "What is weighted, the weight, and the rows and columns must be different variables.", weight=weight
        )
    if bounds.high == 0:
        raise Unsupported(f"The largest declared weight of {weight!r} is 0: nothing would be counted.")
    return weight, bounds


def plan_weighted(question: Question) -> TablePlan:
    """Weighted counts with nine tenths of the budget, squared weights with the rest."""
    weight = str(question.weight)
    bounds = question.domain.variable(weight).bounds
    measurements = tuple(
        _measured(question, weight, power, part)
        for power, part in ((1, 1 - SHARE_FOR_VARIANCE), (2, SHARE_FOR_VARIANCE))
    )
    return priced(
        question,
        measurements,
        lambda blocks: tuple(map(additive_table, blocks, ("weighted count", "squared weights"))),
        law=Joint("weighted", {"blocks": [m.law.to_dict() for m in measurements]}),
        mechanism=measurements[0].mechanism.name,
        strategy="weighted",
        evidence=measurements[0].evidence,
        preview={
            "cells": question.space.size,
            "std_error": measurements[0].law.std_error,
            "half_width_95": float(measurements[0].law.half_width(0.95) * measurements[0].law.step),
            "largest_weight": str(bounds.upper),
            "squared_weights": True,
        },
        warnings=(note("fixed_weights"),),
    )


def _measured(question: Question, weight: str, power: int, part: Fraction) -> Noisy:
    statistic = WeightedCount.of(
        question.domain,
        weight,
        question.space,
        question.where,
        power=power,
        is_fixed=FIXED_WEIGHTS in question.policy.allow.acknowledge,
    )
    mechanism = question.choose(statistic.sensitivity(question.neighbours), share(question.budget, part))
    name = "weighted count" if power == 1 else "squared weights"
    return Noisy(name, statistic, mechanism, question.domain.variable(weight).bounds.step ** power)
