"""Counts of one table, measured so that sums over ranges of its ordered axes have little error.

What is shown are the cells; every range, box, union and difference then has its exact error from the release.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.range_law import MOST_ZEROS, STRUCTURE, RangeLaw
from dalenius.algebra.range_strategies import hierarchical, identity, is_by_trees, optimal
from dalenius.algebra.ranges import Asked, Factor, RangeWorkload, row_cost, swap_cost
from dalenius.core.domain import CellSpace
from dalenius.core.law import Joint
from dalenius.core.plan import TablePlan
from dalenius.core.rationals import round_up
from dalenius.core.release import Block, Table
from dalenius.errors import DaleniusError, DocumentError, TooLarge, UnknownName, Unsupported
from dalenius.limits import ENTRIES, spend_products
from dalenius.measurements.factored_table import FactoredTable
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.plans.allotments import Allotment, allotments, within_loss
from dalenius.plans.count_route import CountRoute
from dalenius.plans.priced import priced
from dalenius.spec.axis import Ranges
from dalenius.spec.document import DEFAULT_MEASURE, Part, usual
from dalenius.spec.method import example
from dalenius.spec.notes import note
from dalenius.spec.question import Question

STRATEGIES = ("identity", "hierarchical", "ranges")
MOST_AXES = 4
MOST_CELLS = 200_000


class RangeKeys(Part):
    ranges: Ranges | None = usual(None, "Ranges over which sums of the counts matter, by axis.", min_length=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Option:
    strategy: str
    step: FactoredTable
    law: RangeLaw
    error: float

    @property
    def told(self) -> dict[str, Any]:
        """Root mean square over the ranges, and the largest standard error of a cell."""
        return {
            "strategy": self.strategy,
            "mechanism": self.step.mechanism.name,
            "rmse": self.error,
            "largest_std_error": sqrt(float(self.law.variances[0].max())),
        }


def _plan(question: Question) -> TablePlan:
    """The strategy of least error over the ranges, priced as one step."""
    space = question.space
    workload = _workload(question.parameter("ranges"), space)
    options = _options(question, workload)
    best = min(options, key=lambda option: option.error)
    law = Joint(
        STRUCTURE,
        {
            "strategy": best.strategy,
            "axes": [axis.name for axis in space.axes],
            "shape": list(space.shape),
            "blocks": [{"name": best.step.name, "kind": "factored"}],
            **best.law.to_parameters(),
        },
    )

    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        (values,), (variance,) = joint.estimates(blocks, law), joint.variances(law)
        return (Table(name=space.name, space=space, values=values, variance=variance, measure=DEFAULT_MEASURE),)

    cell = sqrt(float(best.law.variances[0].max()))
    reach = joint.reach([best.step.law], 0.95)
    return priced(
        question,
        (best.step,),
        assemble,
        mechanism=best.step.mechanism.name,
        strategy=best.strategy,
        preview={
            "cells": space.size,
            "structural_zeros": len(space.structural_zeros),
            "std_error": cell,
            "half_width_95": reach * cell,
            "ranges": round(workload.count),
            "range_std_error": best.error,
            "alternatives": [option.told for option in options],
        },
        law=law,
        warnings=(note("ranges", error=f"{reach * best.error:,.1f}", cells=f"{reach * cell:,.1f}"),),
        refusal=f"{best.step.mechanism.name} noise does not fit {question.budget.definition!r} at this budget.",
    )


def _workload(asked: Any, space: CellSpace) -> RangeWorkload:
    """What the document asks for, with an entry for each axis."""
    names = [axis.name for axis in space.axes]
    if not names:
        raise DocumentError("Ranges are ranges of an axis: name one in rows.")
    if len(names) > MOST_AXES or space.size > MOST_CELLS:
        raise TooLarge(
            f"Ranges are planned for tables of at most {MOST_AXES} axes and {MOST_CELLS:,} cells.", limit=MOST_CELLS
        )
    is_list = not isinstance(asked, Mapping)
    terms = [{name: [pair] for name, pair in box.items()} for box in asked] if is_list else [asked]
    for term in terms:
        for name in term:
            UnknownName.check("axis", name, names)
    if not terms or not any(terms):
        raise DocumentError("ranges names no axis; leave the key out for a plain table.")
    spelled = Counter(tuple(_key(term.get(name)) for name in names) for term in terms)
    first = {tuple(_key(term.get(name)) for name in names): term for term in reversed(terms)}
    # One value for all boxes that say the same of an axis, so that its work is done once.
    by_axis: dict[tuple[str, Any], Asked] = {}
    for key, term in first.items():
        for axis, own in zip(space.axes, key, strict=True):
            if (axis.name, own) not in by_axis:
                by_axis[axis.name, own] = Asked.of(term.get(axis.name), axis.labels)
    return RangeWorkload(
        tuple(tuple(by_axis[pair] for pair in zip(names, key, strict=True)) for key in spelled), tuple(spelled.values())
    )


def _key(wanted: Any) -> Any:
    """What a term says of an axis, as something that can be compared."""
    return wanted if isinstance(wanted, str | int | None) else tuple(tuple(pair) for pair in wanted)


def _options(question: Question, workload: RangeWorkload) -> list[_Option]:
    named, mechanism = question.strategy, question.mechanism
    if named is not None and named not in STRATEGIES:
        raise UnknownName.among("strategy", named, STRATEGIES)
    if len(question.space.structural_zeros) > MOST_ZEROS:
        raise TooLarge(f"Ranges are planned around at most {MOST_ZEROS:,} impossible cells.", limit=MOST_ZEROS)
    _spend(question.space, workload)

    @cache
    def factors_of(strategy: str, is_gaussian: bool) -> tuple[Factor, ...]:
        if strategy == "identity":
            return identity(workload)
        if strategy == "ranges" and is_by_trees(workload):
            return factors_of("hierarchical", is_gaussian)
        make = hierarchical if strategy == "hierarchical" else optimal
        return make(workload, is_gaussian=is_gaussian)

    options: list[_Option] = []
    refusal: DaleniusError | None = None
    for allotment in allotments(question.definition, question.budget):
        if mechanism not in (None, allotment.mechanism):
            continue
        for strategy in STRATEGIES:
            if named not in (None, strategy):
                continue
            factors = factors_of(strategy, allotment.currency == "rho")
            try:
                options.append(_option(question, workload, allotment, strategy, factors))
            except (Unsupported, TooLarge) as error:
                # Noise that cannot be drawn or priced rules out one strategy, not the others.
                refusal = error
    if not options:
        raise refusal or Unsupported(f"{mechanism!r} noise is not used for ranges.", received=mechanism)
    return options


def _spend(space: CellSpace, workload: RangeWorkload) -> None:
    """Count the work on matrices before it is done, and refuse those that would be too large to hold."""
    zeros = len(space.structural_zeros)
    if zeros * space.size > ENTRIES:
        raise TooLarge(
            f"Ranges are planned for at most {ENTRIES // zeros:,} cells where {zeros:,} of them are impossible; this "
            f"table has {space.size:,}.",
            received=space.size,
            limit=ENTRIES // zeros,
        )
    spend_products(len(workload.terms) * zeros * space.size * sum(space.shape))


def _option(
    question: Question, workload: RangeWorkload, allotment: Allotment, strategy: str, factors: tuple[Factor, ...]
) -> _Option:
    def option_of(part: Allotment) -> _Option:
        step = _step(question, part, factors)
        zeros = np.asarray(question.space.structural_indices, dtype=np.int64)
        law = RangeLaw(factors, step.mechanism.variance, zeros)
        return _Option(strategy=strategy, step=step, law=law, error=sqrt(law.mean_square(workload)))

    if not allotment.is_by_loss:
        return option_of(allotment)
    return within_loss(allotment, option_of, lambda option: (option.step,), question.neighbours, question.budget)


def _step(question: Question, allotment: Allotment, factors: tuple[Factor, ...]) -> FactoredTable:
    is_gaussian, neighbours = allotment.currency == "rho", question.neighbours
    cost_of = swap_cost if neighbours.is_replace else row_cost
    cost = cost_of(factors, is_gaussian=is_gaussian)
    noise: DiscreteGaussian | DiscreteLaplace
    if is_gaussian:
        exact = cost * neighbours.max_rows**2 / (2 * allotment.amount)
        noise = DiscreteGaussian(round_up(exact, 10**6))
    else:
        noise = DiscreteLaplace(allotment.amount / (cost * neighbours.max_rows))
    return FactoredTable("combinations", question.query, factors, noise, allotment.is_by_loss)


def _in_order(keys: Mapping[str, Any]) -> dict[str, Any]:
    """One spelling: listed pairs and boxes in order."""
    ranges = keys.get("ranges")
    if ranges is None:
        return dict(keys)
    if isinstance(ranges, Mapping):
        pairs = {name: sorted(map(list, wanted)) for name, wanted in ranges.items() if isinstance(wanted, list | tuple)}
        return {**keys, "ranges": {**ranges, **pairs}}
    return {**keys, "ranges": sorted((dict(box) for box in ranges), key=lambda box: sorted(box.items()))}


RANGES = CountRoute(
    place=40,
    is_asked=lambda question: question.parameter("ranges") is not None,
    plan=_plan,
    keys=RangeKeys,
    canonical_keys=_in_order,
    examples=(example(rows=["region"], columns=["sex"], ranges={"region": "all"}, rho="1/4"),),
)
