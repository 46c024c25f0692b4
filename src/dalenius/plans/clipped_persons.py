"""Counts and totals of which each person adds at most so much to all cells together: one table, or a bound that is
chosen or learned first (docs/reference/methods/clipped_count.md).

A learned bound depends on the first *answer* alone; whichever it is, both steps are reserved at the largest cost.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, sqrt
from typing import Any, Literal

import numpy as np

from dalenius.core.budget import Cost
from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.query import Clip, Norm
from dalenius.core.rationals import plain, rational
from dalenius.core.release import Block, Table
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.noisy import Noisy
from dalenius.plans.priced import additive_table, plan_additive, priced, share
from dalenius.spec.document import Whole, usual
from dalenius.spec.keys import BeyondKey, ClipKey, LearnKey
from dalenius.spec.method import FieldKind, FormField, Method, exact_texts
from dalenius.spec.notes import note
from dalenius.spec.question import Question
from dalenius.statistics.clipped_table import ClippedTable
from dalenius.statistics.person_sizes import PersonSizes
from dalenius.translation import texts

# What is cut off by whole parts of a step is at most a thousandth of the bound in each cell.
_PARTS = 1000
_MOST_BOUNDS = 50
BEYOND_BOUND = Fraction(5, 100)
Tables = Callable[[Clip], ClippedTable]


class ClippedParameters(BeyondKey, LearnKey, ClipKey):
    norm: Literal["l1", "l2"] = usual("l1", "How what a person adds is measured.")
    expected_persons: dict[str, Whole] | None = usual(
        None, "How many persons are expected to add how much, to choose among several bounds."
    )


def clipped_method(name: str, bound: FormField, plan: Callable[[Question], TablePlan], **stated: Any) -> Method:
    """A method whose numbers are clipped for each person: its form asks for a bound or several, how a person's part is
    measured, and the share that learns which bound is taken.
    """
    return Method(
        name=name,
        plan=plan,
        is_offered=False,
        Parameters=ClippedParameters,
        form_fields={
            "clip": bound,
            "norm": FormField(
                kind=FieldKind.CHOICE,
                labels=texts("Over all cells"),
                usual="l1",
                first="l1",
                choices={"l1": texts("sum"), "l2": texts("root of squares")},
            ),
            "learn": FormField(kind=FieldKind.NUMBER, labels=texts("Share to choose a bound")),
        },
        # Where a person can have several rows, all of which one bound holds.
        suits=lambda domain: domain.unit_id is not None and domain.neighbours.max_rows > 1,
        canonical_keys=canonical_clip,
        **stated,
    )


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One bound of a list: its name, its rule, and the step that uses it."""

    name: str
    amount: Fraction
    clip: Clip
    step: Noisy

    @property
    def margin(self) -> float:
        """The 95 % margin of error from noise."""
        return float(self.step.law.half_width(0.95) * self.step.law.step)


def chosen_bound(bounds: Sequence[Bound], q: Fraction, persons: IntArray) -> Bound:
    """The smallest bound that leaves a share q of the released persons whole; the largest where none does."""
    counts = [max(0, int(n)) for n in persons.tolist()]
    whole = 0
    for bound, count in zip(bounds, counts, strict=False):
        whole += count
        if whole >= q * sum(counts):
            return bound
    return bounds[-1]


def plan_clipped(question: Question, measure: str, unit: Fraction, tables: Tables) -> TablePlan:
    """The plan of the route that the keys describe; `unit` is what a step is worth, `tables` the table
    under a bound.
    """
    amounts, norm = _amounts(question), Norm(question.parameter("norm", Norm.L1))
    learned, expected = question.parameter("learn"), question.parameter("expected_persons")
    beyond = question.parameter("beyond")
    if learned is None and beyond is not None:
        raise ParameterError("beyond says how a bound is learned; it needs learn.", name="beyond")
    if learned is not None and expected is not None:
        raise ParameterError("A bound is learned, or chosen by what is expected: not both.", name="learn")
    if (len(amounts) > 1) != (learned is not None or expected is not None):
        raise ParameterError(
            "Of a list of bounds one must be chosen: expected_persons says by which public numbers, learn by "
            "which share of the budget. Both need a list.",
            name="clip",
        )
    part = Fraction(0) if learned is None else rational(learned, "learn")
    if learned is not None and not 0 < part < 1:
        raise ParameterError("learn is a share between 0 and 1.", name="learn")
    bounds = _bounds(question, amounts, _clips(amounts, norm, unit), unit, 1 - part, tables)
    if learned is not None:
        q = 1 - (BEYOND_BOUND if beyond is None else rational(beyond, "beyond"))
        return _plan_learned(question, measure, bounds, part, q, tables)
    if expected is not None:
        return _plan_chosen(question, measure, bounds, _expected(expected))
    return _plan_one(question, measure, bounds[0], {}, ())


def _bounds(
    question: Question,
    amounts: tuple[Fraction, ...],
    clips: tuple[Clip, ...],
    unit: Fraction,
    part: Fraction,
    tables: Tables,
) -> tuple[Bound, ...]:
    bounds = []
    for amount, clip in zip(amounts, clips, strict=True):
        table = tables(clip)
        mechanism = question.choose(table.sensitivity(question.neighbours), share(question.budget, part))
        step = Noisy(question.space.name, table, mechanism, unit / clip.fineness)
        bounds.append(Bound(name=plain(amount), amount=amount, clip=clip, step=step))
    return tuple(bounds)


def _amounts(question: Question) -> tuple[Fraction, ...]:
    written = question.parameter("clip")
    if written is None:
        raise ParameterError(
            "clip says how much one person may add to all cells together: a bound, or a list of bounds.", name="clip"
        )
    listed = written if isinstance(written, list | tuple) else [written]
    amounts = tuple(rational(amount, "clip") for amount in listed)
    if not 1 <= len(amounts) <= _MOST_BOUNDS or min(amounts) <= 0 or sorted(set(amounts)) != list(amounts):
        raise ParameterError(
            f"Bounds are above 0 and rise from each to the next; at most {_MOST_BOUNDS} are listed.", name="clip"
        )
    return amounts


def _clips(amounts: tuple[Fraction, ...], norm: Norm, unit: Fraction) -> tuple[Clip, ...]:
    """On one grid for all: the coarsest tenth, hundredth, … of a step of which the smallest bound has a thousand."""
    fineness = 1
    while amounts[0] / unit * fineness < _PARTS:
        fineness *= 10
    return tuple(Clip(norm=norm, limit=floor(a / unit * fineness), fineness=fineness) for a in amounts)


def canonical_clip(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys with bounds as exact texts, and expected persons by rising size."""
    canonical, persons = exact_texts(keys, "clip"), keys.get("expected_persons")
    if isinstance(canonical.get("clip"), list) and len(canonical["clip"]) == 1:
        canonical["clip"] = canonical["clip"][0]
    if isinstance(persons, Mapping):
        sizes = [rational(size, "expected_persons") for size in persons]
        if len(set(sizes)) < len(sizes):
            raise ParameterError("Each size of expected_persons stands once.", name="expected_persons")
        ordered = sorted(zip(sizes, persons.values(), strict=True))
        canonical["expected_persons"] = {plain(size): count for size, count in ordered}
    return canonical


def _expected(written: Mapping[str, int]) -> dict[Fraction, int]:
    persons = {rational(size, "expected_persons"): count for size, count in written.items()}
    if not persons or min(persons) < 0 or min(persons.values()) < 0:
        raise ParameterError(
            "expected_persons says of sizes, which are at least 0, how many persons are expected to have them.",
            name="expected_persons",
        )
    return persons


def _plan_one(
    question: Question, measure: str, bound: Bound, further: Mapping[str, Any], warnings: tuple[str, ...]
) -> TablePlan:
    clipped = note("clipped", clip=bound.name, norm=str(bound.clip.norm))
    shown = {"clip": bound.name, **further}
    return plan_additive(question, bound.step, measure, warnings=(clipped, *warnings), further=shown)


def _plan_chosen(
    question: Question, measure: str, bounds: tuple[Bound, ...], persons: Mapping[Fraction, int]
) -> TablePlan:
    """The bound with the smallest predicted error: of noise, and of what is cut off, spread evenly over the cells."""
    cells = max(1, question.space.size - len(question.space.structural_zeros))
    rows, best, least = [], bounds[0], float("inf")
    for bound in bounds:
        lost = float(sum(n * max(Fraction(0), size - bound.amount) for size, n in persons.items()))
        noise = bound.step.law.std_error
        error = sqrt(noise**2 + (lost / cells) ** 2)
        rows.append({"clip": bound.name, "std_error": noise, "cut_off": lost, "predicted_error": error})
        if error < least:
            best, least = bound, error
    names = ", ".join(bound.name for bound in bounds)
    return _plan_one(
        question,
        measure,
        best,
        {"bounds": rows, "best": best.name},
        (note("chosen_clip", clip=best.name, clips=names),),
    )


def _plan_learned(
    question: Question, measure: str, bounds: tuple[Bound, ...], part: Fraction, q: Fraction, tables: Tables
) -> TablePlan:
    neighbours, budget = question.neighbours, question.budget
    if neighbours.persons > 1:
        raise Unsupported("A bound is learned for single units; name one bound for a guarantee to groups.")
    if not 0 < q <= 1:
        raise ParameterError("beyond is a share from 0 to below 1.", name="beyond")
    sizes = PersonSizes.of(
        tables(bounds[0].clip).query, [bound.clip for bound in bounds], [bound.name for bound in bounds]
    )
    mechanism = question.choose(sizes.sensitivity(neighbours), share(budget, part))
    first, widest = Noisy("persons by size", sizes, mechanism), max(bounds, key=lambda bound: bound.margin)
    refusal = f"The two steps do not fit {budget.definition!r} at this budget."
    both = [[first.profile(neighbours), bound.step.profile(neighbours)] for bound in bounds]
    if not all(question.definition.fits(profiles, budget) for profiles in both):
        raise Unsupported(refusal)
    plan = priced(
        question,
        (first, widest.step),
        lambda blocks: _shown(blocks, measure, bounds, q),
        law=Joint("independent", {"family": widest.step.mechanism.name, "scale": "released with the bound"}),
        mechanism=", ".join(dict.fromkeys((mechanism.name, widest.step.mechanism.name))),
        strategy="learned_clip",
        preview={
            "cells": question.space.size + sizes.space.size,
            "structural_zeros": len(question.space.structural_zeros),
            "std_error": widest.step.law.std_error,
            "half_width_95": widest.margin,
            "share": plain(part),
            "q": plain(q),
            "bounds": [{"clip": b.name, "half_width_95": b.margin} for b in bounds],
        },
        warnings=(note("learned_clip", norm=str(bounds[0].clip.norm), q=plain(q)),),
        refusal=refusal,
        then=lambda _, released: chosen_bound(bounds, q, released[0].values).step,
    )
    # The largest of each amount: whichever bound is taken, it is covered.
    return replace(plan, reservation=_largest([question.definition.cost(profiles) for profiles in both]))


def _largest(costs: Sequence[Cost]) -> Cost:
    pure = [cost.epsilon for cost in costs if cost.epsilon is not None]
    return Cost(
        relation=costs[0].relation,
        rho=max(cost.rho for cost in costs),
        delta=max(cost.delta for cost in costs),
        epsilon=max(pure) if len(pure) == len(costs) else None,
    )


def _shown(blocks: tuple[Block, ...], measure: str, bounds: Sequence[Bound], q: Fraction) -> tuple[Table, ...]:
    """The table first, then the bound under which it stands, and the persons by size that chose it."""
    sizes, *tables = blocks
    bound = Table(
        name="bound",
        space=CellSpace(()),
        values=np.array([float(chosen_bound(bounds, q, sizes.values).amount)]),
        variance=np.zeros(1),
        measure="bound",
    )
    return (*(additive_table(block, measure) for block in tables), bound, additive_table(sizes, "number of persons"))
