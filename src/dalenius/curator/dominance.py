"""How many cells a few contributors dominate: a charged query, or the custodian's own view; never a free flag.

A request asks for it with `measure = "dominance"`, `of`, and the rows and columns whose cells are judged. The rule is
p % (`p`, 10 unless told otherwise) or, with `k`, that the `n` largest contributors hold more than k % of the total. The
answer is one number: which cells they are is shown through the custodian's door only.
"""

from collections.abc import Mapping
from itertools import product

from dalenius.core.budget import Budget
from dalenius.core.contracts import Definition, Source
from dalenius.core.domain import Axis, Domain
from dalenius.core.plan import TablePlan
from dalenius.core.query import Filter, TableQuery, ValuesQuery
from dalenius.core.release import Block, Table
from dalenius.curator.magnitudes import Choose, table_of
from dalenius.errors import ParameterError, TooLarge
from dalenius.measurements.noisy_values import NoisyValues
from dalenius.statistics.dominance import Dominance

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
        names.append(
            " · ".join(axis.labels[label] for axis, label in zip(axes, cell, strict=True)) or "total"
        )
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


def plan_dominance(
    domain: Domain,
    query: TableQuery,
    of: str,
    budget: Budget,
    definition: Definition,
    choose: Choose,
    options: Mapping[str, object],
) -> TablePlan:
    """One noisy number of dominated cells."""
    _ = domain.variable(of).bounds
    names, statistic = judged(query, of, options)
    mechanism = choose(statistic.sensitivity(domain.neighbours), budget)
    measurement = NoisyValues("dominated cells", statistic, mechanism)
    profile = measurement.profile(domain.neighbours)

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        (block,) = blocks
        return (table_of(block, "dominated cells"),)

    return TablePlan(
        measurements=(measurement,),
        assemble=assemble,
        law=measurement.law,
        reservation=definition.cost([profile]),
        budget=budget,
        mechanism=mechanism.name,
        strategy="dominance",
        evidence=mechanism.evidence,
        preview={
            "cells": 1,
            "judged": len(names),
            "std_error": measurement.law.std_error,
            "law": measurement.law.to_dict(),
        },
    )


def dominated(source: Source, query: TableQuery, of: str, options: Mapping[str, object]) -> dict[str, object]:
    """Which cells are dominated, exactly; for the custodian's eyes."""
    names, statistic = judged(query, of, options)
    verdicts = [
        statistic.is_dominated(source.values(part).open_below_the_gate()) for part in statistic.queries
    ]
    found = [name for name, verdict in zip(names, verdicts, strict=True) if verdict]
    return {"cells": len(names), "dominated": len(found), "which": found}
