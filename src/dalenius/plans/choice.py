"""Plans of selections: one cell of a declared table is named, nothing is counted in the answer.

`method` names how the cell is chosen: `exponential` (the default; of bounded range, so that it is cheap in rho) or
`permute_and_flip` (never less likely to name the best cell at the same epsilon).
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, isqrt, log
from typing import Any

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.conversions import pure_to_rho
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.plan import Assemble, TablePlan
from dalenius.core.release import Block, Table
from dalenius.core.search import largest
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.measurements.exponential_selection import ExponentialSelection
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.measurements.selections.cells import Scores
from dalenius.plans.priced import priced
from dalenius.spec.notes import note
from dalenius.spec.question import Question

_WAYS: dict[str, type[ExponentialSelection] | type[PermuteAndFlip]] = {
    "exponential": ExponentialSelection,
    "permute_and_flip": PermuteAndFlip,
}
_TIMED = note("timed")
_USUAL = "exponential"
_DOUBT = 0.05
_GRID = 10**6


def canonical_choice(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys without the method that is meant if none is named."""
    return {key: value for key, value in keys.items() if (key, value) != ("method", _USUAL)}


def plan_choice(
    question: Question, measure: str, scores: Scores, *, sign: int = 1, step: Fraction = Fraction(1)
) -> TablePlan:
    """One cell is chosen; the preview says by how much it may fall short of the best one."""
    if not question.space.axes:
        raise Unsupported(f"measure = {measure!r} names a cell of a table: give rows or columns.")
    way = str(question.parameter("method", _USUAL))
    if way not in _WAYS:
        raise UnknownName.among("method", way, list(_WAYS))
    selection = _WAYS[way](measure, scores.query, _epsilon(question.budget, way), question.neighbours, scores, sign)
    # The exponential mechanism falls short by (log of candidates + t) / rate with probability at most exp(-t), the
    # other by less.
    short = (log(question.space.size) - log(_DOUBT)) / float(selection.rate)
    return priced(
        question,
        (selection,),
        _named(measure, question.space),
        mechanism=way if way == "permute_and_flip" else "exponential_selection",
        strategy="selection",
        preview={
            "cells": question.space.size,
            "half_width_95": ceil(short) * float(step),
            "law": selection.law.to_dict(),
        },
        warnings=(_TIMED,),
        refusal=f"A selection of this kind does not fit {question.budget.definition!r} at this budget.",
    )


def _epsilon(budget: Budget, way: str) -> Fraction:
    """epsilon as given; from rho, the largest on a grid that it pays for."""
    if budget.epsilon is not None:
        return budget.epsilon
    if budget.rho is None:
        raise ParameterError("A selection needs epsilon or rho.", name="epsilon")
    if way == "exponential":
        square = 8 * budget.rho * _GRID * _GRID
        return Fraction(isqrt(square.numerator // square.denominator), _GRID)
    # The largest multiple of the grid that is paid, up to a hundred.
    rho = Fraction(budget.rho or 0)
    return Fraction(largest(lambda k: pure_to_rho(Fraction(k, _GRID)) <= rho, 0, 100 * _GRID), _GRID)


def _named(measure: str, space: CellSpace) -> Assemble:
    """A table of the chosen cell alone: its labels are the answer, 1 marks it."""

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        labels = space.labels()[int(blocks[0].values[0])]
        axes = tuple(
            Axis(variable=axis.variable, labels=(str(label),), level=axis.level)
            for axis, label in zip(space.axes, labels, strict=True)
        )
        return (
            Table(
                name=blocks[0].name,
                space=CellSpace(axes),
                values=np.ones(1),
                variance=np.full(1, np.nan),
                measure=measure,
                is_unbiased=False,
            ),
        )

    return assemble
