"""Counts of a secret sample that is drawn for this release: less noise is needed, and the error of sampling is added.

The noise is that of the larger epsilon, log(1 + (e^epsilon - 1) / q), which the sample turns into the guaranteed one.
"""

from fractions import Fraction
from math import ceil, sqrt

import numpy as np

from dalenius.core.budget import MOST_EPSILON, Budget
from dalenius.core.law import Thinned
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import exp_lower, log_lower, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.amplification import Scheme, SecretSample
from dalenius.measurements.sampled_count import SampledCount
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import block_table, priced
from dalenius.spec.document import DEFAULT_MEASURE, Exact, Part, usual
from dalenius.spec.method import example
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.count import Count

_GRID = 10**9


class SampleKeys(Part):
    sample: Exact | None = usual(None, "The chance with which every record is in a secret sample.")


def _plan(question: Question) -> TablePlan:
    """One table of counts, of a sample that nobody sees."""
    fraction = rational(question.parameter("sample"), "sample")
    if not 0 < fraction < 1:
        raise ParameterError(f"sample is a fraction between 0 and 1; received {fraction}.", name="sample")
    if question.neighbours.is_replace:
        raise Unsupported(
            "A secret sample is amplified under add-remove only, not under replace: the size of the sample would tell."
        )
    if question.definition.amounts != ("epsilon",):
        raise Unsupported(
            f"A secret sample is amplified as pure epsilon, not under {question.definition.name!r}: rho is not "
            "amplified by sampling."
        )
    rules = question.policy.table
    if rules.truncation is not None or rules.maximum_entropy or rules.threshold is not None or rules.nonnegative:
        raise Unsupported("The policy's rules on counts shape a law of noise alone; leave 'sample' out.")
    assert question.budget.epsilon is not None
    inside = Budget(definition=question.budget.definition, epsilon=_inside(question.budget.epsilon, fraction))
    mechanism = question.choose(Count(question.query).sensitivity(question.neighbours), inside)
    step = SampledCount(question.space.name, question.query, mechanism, fraction)
    error = sqrt(float(step.law.variance_at(np.array([question.records * float(fraction)]))[0]))
    return priced(
        question,
        (step,),
        lambda blocks: tuple(map(_table, blocks)),
        mechanism=mechanism.name,
        strategy="secret_sample",
        preview={
            "cells": question.space.size,
            "structural_zeros": len(question.space.structural_zeros),
            "records": question.records,
            "sample": str(fraction),
            "std_error": error,
            "half_width_95": ceil(1.96 * error),
            "law": step.law.to_dict(),
        },
        warnings=(note("secret_sample", fraction=str(fraction)),),
        refusal="This secret sample does not fit the budget.",
    )


def _inside(epsilon: Fraction, fraction: Fraction) -> Fraction:
    """The largest epsilon on the sample that is known to give the guaranteed one on all records."""
    inside = min(log_lower(1 + (exp_lower(epsilon) - 1) / fraction), Fraction(MOST_EPSILON))
    inside = Fraction(int(inside * _GRID), _GRID)
    while inside > 0 and SecretSample(fraction=fraction, scheme=Scheme.POISSON).epsilon(inside) > epsilon:
        inside -= Fraction(1, _GRID)
    return inside


def _table(block: Block) -> Table:
    """Divided by the fraction: unbiased, with the variance that sampling and noise are estimated to have."""
    assert isinstance(block.law, Thinned)
    values = block.values.astype(np.float64)
    return block_table(block, values / float(block.law.fraction), block.law.variance_at(values), DEFAULT_MEASURE)


SAMPLE = CountRoute(
    place=70,
    is_asked=lambda question: question.parameter("sample") is not None,
    plan=_plan,
    keys=SampleKeys,
    examples=(example(rows=["sex"], columns=["region"], sample="1/2", epsilon=1),),
)
