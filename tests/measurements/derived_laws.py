"""Laws of private steps derived a second time, by other means than the law that a step states beside itself (trap 56)."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import exp
from typing import Any

import numpy as np

from dalenius.core.integer_law import Listed, parts_of
from dalenius.core.law import IntArray
from dalenius.exact import several_quantiles
from dalenius.exact.quantile_selection import Records, score_runs
from dalenius.exact.several_quantiles import RankSelection
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.grid_selection import GridSelection
from dalenius.measurements.propose_test_release import ProposeTestRelease


def stated(step: Any, *content: Any) -> dict[tuple[int, ...], float]:
    """The probabilities that a step with one listed part states."""
    (part,) = parts_of(step.exact_law([np.array(one, dtype=np.int64) for one in content]))
    assert isinstance(part, Listed)
    return dict(zip(map(tuple, part.outcomes.tolist()), np.exp(part.logs).tolist(), strict=True))


def first_heads(rate: float, scores: Sequence[int]) -> list[float]:
    """Permute-and-flip by summing over all orders."""
    heads = [exp(-rate * (max(scores) - score)) for score in scores]
    total = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reach = 1.0
        for r in order:
            total[r] += reach * heads[r] / len(orders)
            reach *= 1 - heads[r]
    return total


def quantile_lists(selection: RankSelection, lists: Sequence[Records]) -> dict[tuple[int, ...], Fraction]:
    """Every list of selected points, exactly, from the runs and integer weights that are drawn from."""
    count = len(selection.steps)
    states: dict[tuple[tuple[int, int], ...], Fraction] = {((-1, selection.low), (count, selection.high)): Fraction(1)}
    for step, records in zip(selection.steps, lists, strict=True):
        w = selection.weights(step)
        following: dict[tuple[tuple[int, int], ...], Fraction] = {}
        for state, mass in states.items():
            answers = dict(state)
            part = several_quantiles.part_of(records, step, answers, count, is_open=selection.is_open)
            ends = (answers[step.left], answers[step.right])
            odds = [
                (y, w[min(int(s), len(w) - 1)])
                for a, b, s in zip(*score_runs(part, *ends, selection.aim(part, step, w)), strict=True)
                for y in range(int(a), int(b) + 1)
            ]
            total = sum(weight for _, weight in odds)
            for y, weight in odds:
                following[(*state, (step.target, y))] = mass * Fraction(weight, total)
        states = following
    result: dict[tuple[int, ...], Fraction] = {}
    for state, mass in states.items():
        answers = dict(state)
        key = tuple(answers[i] for i in range(count))
        result[key] = result.get(key, Fraction(0)) + mass
    return result


def drawn_law(
    step: GridSelection, values: Sequence[int] | IntArray, fineness: int = 1
) -> dict[tuple[int, ...], Fraction]:
    """The law of the points of the first cell, before they are shown, from the runs that are drawn from."""
    selection = step.selection(0, fineness)
    content = np.array(values, dtype=np.int64).reshape((-1,) if step.heaviest is None else (-1, 2))
    return quantile_lists(selection, step._lists(content, selection.steps))


def proposed_answers(step: ProposeTestRelease | Cascade, values: IntArray, reach: int) -> dict[Any, Fraction]:
    """No reply, and the answers near the exact ones at each bound: by going through the noises of the test, one by one."""
    is_cascade = isinstance(step, Cascade)
    rate = float(step.rate if is_cascade else step.test)
    thresholds = step.thresholds if is_cascade else (step.threshold,)
    bounds = step.bounds if is_cascade else (step.bound,)
    distances = [step.statistic.distance(values, bound, step.neighbours) for bound in bounds]
    needed = np.array(thresholds) - np.maximum.accumulate(distances)
    noise = np.arange(-2000, 2001)
    masses = np.tanh(rate / 2) * np.exp(-rate * np.abs(noise))
    passes = noise[:, None] > needed
    places = np.where(passes.any(axis=1), passes.argmax(axis=1), len(bounds))
    chances: dict[Any, Fraction] = {"no reply": Fraction(float(masses[places == len(bounds)].sum()))}
    answers, exact = np.arange(-reach, reach + 1), step.statistic.value(values)
    for place, bound in enumerate(bounds):
        slope = float(step.epsilon / bound)
        odds = masses[places == place].sum() * np.tanh(slope / 2) * np.exp(-slope * np.abs(answers - exact))
        chances |= {(place, int(answer)): Fraction(float(mass)) for answer, mass in zip(answers, odds, strict=True)}
    return chances
