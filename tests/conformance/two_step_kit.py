"""The kit of plans whose later steps are made of answers: whatever was released, all steps fit the reservation.

Every answer of a step that another one is made of is gone through on tiny data, from the exact law that it states:
every outcome of a selection, and numbers with noise as small and as large as thresholds can tell apart. Where there are
too many, some are taken evenly among them, the first and the last included.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod

import numpy as np

from dalenius.audit.steps import fetched, law_of
from dalenius.core import registry
from dalenius.core.contracts import Measurement, Source
from dalenius.core.integer_law import Listed, Mixed, Noised, Part, parts_of
from dalenius.core.law import IntArray
from dalenius.core.plan import TwoStepPlan
from dalenius.core.release import Value

# What a number with noise may be, whatever the exact one is.
NUMBERS = (-(2**40), -1, 0, 1, 2, 3, 5, 2**40)
# So many answers of the first steps are gone through, and of each later one that a further step is made of.
MOST, MOST_LATER = 400, 20
Answers = tuple[IntArray, ...]


def check(plan: TwoStepPlan, source: Source) -> int:
    """Price every path of answers; returns how many there were."""
    definition = registry.get("definitions", plan.definition)()
    assert 0 < plan.first < len(plan.measurements), "a plan of two steps has a first and a later one"
    paths = 0
    for answers in _answers(plan.measurements[: plan.first], source, MOST):
        for steps in _paths(plan, source, answers):
            profiles, names = [step.profile(plan.neighbours) for step in steps], [step.name for step in steps]
            assert definition.fits(profiles, plan.budget), f"{names} exceed the budget"
            assert definition.cost(profiles).fits(plan.reservation), f"{names} exceed the reservation"
            paths += 1
    return paths


def _paths(plan: TwoStepPlan, source: Source, answers: Answers) -> Iterator[tuple[Measurement, ...]]:
    """The steps along every path that begins with these answers."""
    steps = _along(plan, answers)
    assert steps == _along(plan, answers), "a later step is a function of what was released and of nothing else"
    if len(steps) in (len(answers), len(plan.measurements)):
        yield steps
        return
    for further in _answers(steps[-1:], source, MOST_LATER):
        yield from _paths(plan, source, (*answers, *further))


def _along(plan: TwoStepPlan, answers: Answers) -> tuple[Measurement, ...]:
    """The steps that these answers lead to, the one after the last answer included."""
    steps = plan.steps()
    made = [next(steps)]
    with suppress(StopIteration):
        for answer in answers:
            made.append(steps.send(Value(answer)))
    return tuple(made)


def _answers(steps: Sequence[Measurement], source: Source, most: int) -> Iterator[Answers]:
    """What the steps can release together; evenly taken where there is more than so much."""
    parts = [[rows for part in parts_of(law_of(s, fetched(s, source))) for rows in _outcomes(part)] for s in steps]
    sizes = [len(rows) for outcomes in parts for rows in outcomes]
    whole = prod(sizes)
    for number in range(min(whole, most)):
        places = _digits(number if whole <= most else number * (whole - 1) // (most - 1), sizes)
        yield tuple(np.concatenate([rows[next(places)] for rows in outcomes]) for outcomes in parts)


def _digits(number: int, sizes: Sequence[int]) -> Iterator[int]:
    for size in sizes:
        number, digit = divmod(number, size)
        yield digit


def _outcomes(part: Part) -> list[IntArray]:
    """What each of the independent numbers of a part can be, one row an outcome."""
    if isinstance(part, Noised | Mixed):
        shown = part.shown(np.array(part.numbers, dtype=np.int64)) if isinstance(part, Noised) else [0]
        return [np.array(NUMBERS, dtype=np.int64)[:, None]] * len(shown)
    assert isinstance(part, Listed), "a first answer is a list of outcomes or numbers with noise"
    return [part.outcomes[part.logs > -np.inf]]
