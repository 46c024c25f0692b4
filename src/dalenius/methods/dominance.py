"""How many cells a few contributors dominate: a charged query, or the custodian's own view; never a free flag.

A request asks for it with `measure = "dominance"`, `of`, and the rows and columns whose cells are judged. `rule`
is p % (`{ p = 10 }` unless told otherwise) or that n contributors hold more than k % of the total. The answer is one
number: which cells they are is shown through the custodian's door only.
"""

from collections.abc import Mapping
from itertools import product
from typing import Literal

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery, ValuesQuery
from dalenius.errors import ParameterError, TooLarge
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import priced, shown_as
from dalenius.spec.document import Part, Whole, usual
from dalenius.spec.method import AnswerKind, Method, Words, example
from dalenius.spec.question import Question
from dalenius.statistics.dominance import Dominance
from dalenius.translation import translated

OPTIONS = ("p", "n", "k")
# Each cell is a pass over the data.
MOST_CELLS = 500


def judged(query: TableQuery, of: str, options: Mapping[str, object]) -> tuple[list[str], Dominance]:
    """The cells that can hold anybody, and the rule over them."""
    if query.space.size > MOST_CELLS:
        raise TooLarge(f"Dominance is judged for at most {MOST_CELLS} cells; received {query.space.size:,}.")
    names, queries = [], []
    axes = query.space.axes
    for cell in product(*(range(len(axis)) for axis in axes)):
        if cell in query.space.structural_zeros:
            continue
        inside = tuple(_inside(axis, label) for axis, label in zip(axes, cell, strict=True))
        queries.append(ValuesQuery(value=of, where=(*query.where, *inside)))
        names.append(" · ".join(axis.labels[label] for axis, label in zip(axes, cell, strict=True)) or "total")
    rule = {name: _whole(name, options[name]) for name in OPTIONS if name in options}
    return names, Dominance(queries=tuple(queries), **rule)


def _inside(axis: Axis, label: int) -> Filter:
    if axis.cuts:
        return Filter(variable=axis.variable, low=axis.cuts[label], high=axis.cuts[label + 1] - 1)
    members = tuple(code for code, shown in enumerate(axis.codes) if shown == label)
    return Filter(variable=axis.variable, codes=members)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"{name} must be a whole number; received {value!r}.", name=name)
    return value


class DominanceParameters(Part):
    """Keys of a rule of dominance."""

    rule: dict[Literal["p", "n", "k"], Whole] | None = usual(
        None,
        "When a cell is dominated: { p = 10 } where the second largest contributor could estimate the largest one "
        "within p per cent, { n = 2, k = 80 } where n contributors hold more than k per cent of the total.",
    )


def _plan(question: Question) -> TablePlan:
    """One number, whatever the cells."""
    _ = question.bounds
    names, statistic = judged(question.query, question.of, question.parameter("rule") or {})
    mechanism = question.choose(statistic.sensitivity(question.neighbours))
    measurement = Noisy("dominated cells", statistic, mechanism)
    law = measurement.law
    return priced(
        question,
        (measurement,),
        shown_as("dominated cells"),
        mechanism=mechanism.name,
        strategy="dominance",
        preview={
            "cells": 1,
            "judged": len(names),
            "std_error": law.std_error,
            "half_width_95": law.half_width(0.95),
            "law": law.to_dict(),
        },
    )


DOMINANCE = Method(
    name="dominance",
    plan=_plan,
    answer=AnswerKind.NUMBER,
    Parameters=DominanceParameters,
    words=translated(
        Words(
            title="Number of cells where few contributors dominate the total of {of}",
            preview="Expect the number of dominated cells to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}; which cells they are is not published.",
        )
    ),
    examples=(example(rows=["region"], measure="dominance", of="income", rule={"p": 15}, epsilon=1),),
    judged=judged,
)
