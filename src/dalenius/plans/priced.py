"""What most plans share: pricing a list of measurements under the definition, and showing additive blocks."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.evidence import Evidence
from dalenius.core.law import Additive, FloatArray, Law, Withheld
from dalenius.core.plan import Assemble, TablePlan, Then, TwoStepPlan
from dalenius.core.release import Block, Table
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import InternalError, ParameterError, Unsupported
from dalenius.spec.question import Question


def priced(
    question: Question,
    measurements: tuple[Measurement, ...],
    assemble: Assemble,
    *,
    mechanism: str,
    strategy: str,
    preview: Mapping[str, Any],
    law: Law | None = None,
    warnings: tuple[str, ...] = (),
    evidence: Evidence | None = None,
    limits: tuple[float, float] | None = None,
    refusal: str = "This request does not fit the budget.",
    then: Then | None = None,
) -> TablePlan:
    """The plan over these measurements, priced under the question's definition and refused if it does not fit.

    With `then` all but the first measurement stand at their worst case, and are made of what was released before.
    """
    profiles = [m.profile(question.neighbours) for m in measurements]
    if not question.definition.fits(profiles, question.budget):
        raise Unsupported(refusal)
    plan = TablePlan(
        measurements=measurements,
        assemble=assemble,
        law=measurements[0].law if law is None else law,
        reservation=question.definition.cost(profiles),
        budget=question.budget,
        mechanism=mechanism,
        strategy=strategy,
        evidence=evidence or measurements[-1].evidence,
        neighbours=question.neighbours,
        account=question.definition.account,
        preview=preview,
        warnings=(*question.definition.warnings, *warnings),
        limits=limits,
    )
    return plan if then is None else TwoStepPlan(**vars(plan), then=then)


class AdditiveStep(Measurement, Protocol):
    """A measurement that adds noise with a published law to a table."""

    @property
    def mechanism(self) -> Mechanism:
        """The noise."""

    @property
    def law(self) -> Additive:
        """Its law on the declared grid."""


def plan_additive(
    question: Question,
    step: AdditiveStep,
    measure: str,
    *,
    strategy: str = "table",
    warnings: tuple[str, ...] = (),
    limits: tuple[float, float] | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> TablePlan:
    """One table with additive noise, shown as it is; `further` is added to its preview."""
    name = step.mechanism.name
    return priced(
        question,
        (step,),
        shown_as(measure),
        mechanism=name,
        strategy=strategy,
        preview={**additive_preview(question, step.law), **further},
        warnings=warnings,
        limits=limits,
        refusal=f"{name} noise does not fit {question.budget.definition!r} at this budget.",
    )


def limits_of(question: Question, *, is_difference: bool = False) -> tuple[float, float]:
    """What a value, or a difference of two values, of the variable can be."""
    low, high = (float(end * question.bounds.step) for end in (question.bounds.low, question.bounds.high))
    return (0.0, high - low) if is_difference else (low, high)


def share(budget: Budget, part: Fraction) -> Budget:
    """A part of every amount."""
    parts: dict[str, Any] = {name: amount * part for name, amount in budget.amounts.items() if amount is not None}
    return replace(budget, **parts)


def named_steps(what: str, plan: TablePlan) -> tuple[Measurement, ...]:
    """The measurements of a part of a plan, named after what they are of."""
    return tuple(replace(m, name=f"{what}: {m.name}") for m in plan.measurements)  # type: ignore[type-var]


def selection_epsilon(budget: Budget, count: int) -> Fraction:
    """The epsilon of all levels of selections together; rho pays for levels of a bounded range with epsilon^2 / (8
    levels) = rho.
    """
    if budget.rho is None:
        if budget.epsilon is None:
            raise ParameterError("Quantiles need epsilon or rho.", name="epsilon")
        return budget.epsilon
    square = 8 * budget.rho * count
    return Fraction(isqrt((square.numerator << 80) // square.denominator), 1 << 40)


def additive_table(block: Block, measure: str) -> Table:
    """An additive block in the units of its variable: unbiased, signed, with the variance of its law."""
    if not isinstance(block.law, Additive):
        raise InternalError("Only additive blocks are shown as they are.")
    values = block.values.astype(np.float64) * float(block.law.step)
    return block_table(block, values, np.full(len(values), block.law.variance), measure)


def block_table(
    block: Block, values: FloatArray, variance: FloatArray, measure: str, *, is_unbiased: bool = True
) -> Table:
    """The cells of a block with these values; impossible ones have no variance."""
    variance[list(block.space.structural_indices)] = 0.0
    return Table(
        name=block.name, space=block.space, values=values, variance=variance, measure=measure, is_unbiased=is_unbiased
    )


def shown_as(measure: str) -> Assemble:
    """Every block as it is."""
    return lambda blocks: tuple(additive_table(block, measure) for block in blocks)


def selected(measure: str, step: Fraction, *, is_unbiased: bool = False) -> Assemble:
    """Blocks whose error is not published: values in the units of the variable, variance unknown."""

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        return tuple(
            Table(
                name=block.name,
                space=block.space,
                values=np.asarray(block.values * float(step), dtype=np.float64),
                variance=_unknown(block),
                measure=measure,
                is_unbiased=is_unbiased and block.role == "table" and isinstance(block.law, Withheld),
            )
            for block in blocks
        )

    return assemble


def _unknown(block: Block) -> FloatArray:
    variance = np.full(block.space.size, np.nan)
    if block.role == "table":
        variance[list(block.space.structural_indices)] = 0.0
    return variance


def additive_preview(question: Question, law: Additive) -> dict[str, Any]:
    """What is known of a table of additive noise before data are read."""
    space = question.space
    return {
        "cells": space.size,
        "structural_zeros": len(space.structural_zeros),
        "std_error": law.std_error,
        "half_width_95": float(law.half_width(0.95) * law.step) if law.step != 1 else law.half_width(0.95),
        "law": law.to_dict(),
    }


def refuse_public_alone(question: Question, sensitivity: Sensitivity) -> Sensitivity:
    """The sensitivity, or a refusal where it is zero: such numbers would be exact, and nothing would be charged for
    them.

    That everybody can look an attribute up does not make the custodian's file a source for it: a record that is wrong
    there, or missing, would show. So they are taken from where they are public, or asked for under differential
    privacy.
    """
    if sensitivity.l1 > 0:
        return sensitivity
    sources = {name: question.domain.variable(name).public_source for name in question.neighbours.public}
    raise Unsupported(
        "These numbers follow from publicly known attributes alone, so that this guarantee would release them without "
        f"noise. Take them from where they are public ({'; '.join(f'{n}: {s}' for n, s in sources.items())}), or ask "
        "under differential privacy.",
        definition=question.definition.name,
        public=list(sources),
    )
