"""What the answers to a plan show of the difference between two data sets, from the exact laws that its steps state.

No step is known here by name, and nothing is taken from a claim about privacy: the parts of the two laws are compared
one by one. Where noise is added to exact numbers the step is also run on both data sets with the same noise. A plan
whose later steps are made of earlier answers is followed through every first answer where few steps can come after it,
and otherwise along one path of answers, whose losses the charge has to cover as those of any other path.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dalenius.audit.losses import Adaptive, AnswerPart, Shown, Together, aligned, certain, mixed, shifted
from dalenius.core.contracts import AdditiveMeasurement, DataDependentStep, KeyedStep, Measurement, Plan, Source
from dalenius.core.integer_law import Branches, ExactLaw, Listed, Mixed, Noised, Part, parts_of
from dalenius.core.law import FloatArray, IntArray
from dalenius.core.plan import TablePlan, TwoStepPlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.errors import InternalError
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

Exact = tuple[Sealed[IntArray], ...]
_SECRET = b"a secret of the attacker"
# First answers with noise are gone through so far beyond the exact ones. More answers, or more steps after them, are
# not gone through; noise that can lead to many steps leads to any number of them.
_BEYOND, _MOST_ANSWERS, _MOST_STEPS, _MOST_AFTER_NOISE = 6, 60_000, 30, 4


def fetched(step: Measurement, source: Source) -> Exact:
    return tuple(gate.fetched(source, query) for query in step.needs)


def law_of(step: Measurement, exact: Exact, at: Exact | None = None) -> ExactLaw:
    """The exact law that a step states at one content, with the noise that `at` sets where it follows the data."""
    content = [sealed.open_below_the_gate() for sealed in exact]
    if at is None or not isinstance(step, DataDependentStep):
        return step.exact_law(content)
    return step.exact_law_at(content, [sealed.open_below_the_gate() for sealed in at])


@dataclass(frozen=True, eq=False)
class _Met:
    step: Measurement
    here: Exact
    there: Exact
    at: Exact | None = None

    @classmethod
    def of(cls, step: Measurement, here: Source, there: Source) -> "_Met":
        return cls(step, fetched(step, here), fetched(step, there))

    @cached_property
    def laws(self) -> tuple[Sequence[Part], Sequence[Part]]:
        first, second = (parts_of(law_of(self.step, exact, self.at)) for exact in (self.here, self.there))
        return first, second


def pair_of(plan: Plan, here: Source, there: Source) -> Together | Adaptive:
    is_fixed = isinstance(plan, TablePlan) and not isinstance(plan, TwoStepPlan)
    branches = None if is_fixed else _branches(plan, _Met.of(next(plan.steps()), here, there))
    if branches is None:
        return Together(tuple(_followed(plan, None, here, there, is_fixed=is_fixed)))
    answers, shown, places = branches
    pairs = [Together(tuple(_followed(plan, answer, here, there))) for answer in answers]
    return Adaptive(shown, tuple(pairs[place] for place in places))


def _followed(
    plan: Plan, answer: IntArray | None, here: Source, there: Source, *, is_fixed: bool = False
) -> list[Shown]:
    """What all steps show along one path of answers, or those after the first where that gave this answer."""
    steps, parts = plan.steps(), list[Shown]()
    step = next(steps)
    try:
        step = step if answer is None else steps.send(Value(answer))
        while True:
            met = _Met.of(step, here, there)
            parts += _parts(met)
            step = steps.send(Value(np.zeros(1, dtype=np.int64)) if is_fixed else _telling(met.laws[0]))
    except StopIteration:
        return parts


def _telling(law: Sequence[Part]) -> Outcome:
    """An answer that tells much: exact where there is noise, evenly apart where points are selected, or likeliest."""
    values: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    for part in law:
        if isinstance(part, Branches):
            branch = max(part.chances, key=lambda key: part.chances[key])
            rest = _telling(part.then[branch])
            assert isinstance(rest, Value)
            answer: Outcome = part.outcome(branch, rest.values)
            return answer
        if isinstance(part, Noised):
            values.append(part.shown(np.array(part.numbers, dtype=np.int64)))
        elif isinstance(part, Mixed):
            values.append(np.array([max(part.centres, key=lambda centre: part.centres[centre])], dtype=np.int64))
        else:
            rows = part.outcomes[part.logs > -np.inf]
            evenly = np.linspace(rows.min(), rows.max(), rows.shape[1])
            values.append(rows[int(np.argmin(((rows - evenly) ** 2).sum(axis=1)))])
    return Value(np.concatenate(values))


def _branches(plan: Plan, met: _Met) -> tuple[list[IntArray], AnswerPart, list[int]] | None:
    """An answer to the first step for every step that can follow; and the first answers that lead to one step and
    tell as much of the data, with its place. None where one step follows all answers, or too many.
    """
    if any(isinstance(part, Mixed | Branches) for part in met.laws[0]):
        return None
    rows = [one for a, b in zip(*met.laws, strict=True) for one in _outcomes(a, b)]
    if prod(len(outcomes) for outcomes, _, _ in rows) > _MOST_ANSWERS:
        return None
    sides = [np.zeros(1), np.zeros(1)]
    for _, *logs in rows:
        sides = [np.add.outer(side, log).ravel() for side, log in zip(sides, logs, strict=True)]
    most = _MOST_AFTER_NOISE if any(isinstance(part, Noised) for part in met.laws[0]) else _MOST_STEPS
    following: dict[object, tuple[int, IntArray]] = {}
    groups: dict[tuple[int, float], tuple[list[float], list[float]]] = {}
    answers = product(*(outcomes for outcomes, _, _ in rows))
    for row, own, other in zip(answers, *(side.tolist() for side in sides), strict=True):
        if own == other == -np.inf:
            continue
        answer = np.concatenate(row)
        place, _ = following.setdefault(_after(plan, answer), (len(following), answer))
        if len(following) > most:
            return None
        chances = groups.setdefault((place, round(own - other, 9)), ([], []))
        chances[0].append(own)
        chances[1].append(other)
    if len(following) == 1:
        return None
    merged = [np.array([np.logaddexp.reduce(group[side]) for group in groups.values()]) for side in (0, 1)]
    following_answers = [answer for _, answer in following.values()]
    return following_answers, AnswerPart(merged[0], merged[1]), [place for place, _ in groups]


def _after(plan: Plan, answer: IntArray) -> object:
    steps = plan.steps()
    next(steps)
    try:
        return steps.send(Value(answer))
    except StopIteration:
        return None


def _outcomes(a: Part, b: Part) -> list[tuple[IntArray, FloatArray, FloatArray]]:
    """Outcomes of one part, one row each, with their log-probabilities on either side."""
    if isinstance(a, Listed) and isinstance(b, Listed):
        return [aligned(a, b)]
    assert isinstance(a, Noised) and isinstance(b, Noised)
    rows = []
    for one, other, law in zip(a.numbers, b.numbers, a.laws, strict=True):
        points = np.arange(min(one, other) - _BEYOND, max(one, other) + _BEYOND + 1, dtype=np.int64)
        with np.errstate(divide="ignore"):
            logs = [np.log(points == n) if law is None else law.log_pmf(points - n) for n in (one, other)]
        rows.append((points[:, None], np.asarray(logs[0]), np.asarray(logs[1])))
    return rows


def parts_between(step: Measurement, here: Exact, there: Exact, at: Exact | None = None) -> list[Shown]:
    """The independent parts of one step that differ between two contents, with the noise that `at` sets."""
    return _parts(_Met(step, here, there, at))


def _parts(met: _Met) -> list[Shown]:
    laws, step = met.laws, met.step
    if isinstance(step, KeyedStep):
        laws = [_keyed(step, part) for part in laws[0]], [_keyed(step, part) for part in laws[1]]
        step = step.with_secret(fingerprint="one", secret=_SECRET)
    if met.at is None and all(isinstance(part, Noised) for part in laws[0]):
        _check_numbers(replace(met, step=step))
    return [shown for a, b in zip(*laws, strict=True) for shown in _between(a, b)]


def _between(a: Part, b: Part) -> list[Shown]:
    if isinstance(a, Noised) and isinstance(b, Noised):
        if list(a.laws) != list(b.laws):
            raise InternalError("The noise of two contents differs.")
        moved = [(law, y - x) for law, x, y in zip(a.laws, a.numbers, b.numbers, strict=True) if x != y]
        return [certain(shift) if law is None else shifted(law, shift) for law, shift in moved]
    if isinstance(a, Mixed) and isinstance(b, Mixed):
        return [] if a.centres == b.centres else [mixed(a.law, a.centres, b.centres)]
    if isinstance(a, Listed) and isinstance(b, Listed):
        _, *sides = aligned(a, b)
        return [] if np.array_equal(sides[0], sides[1]) else [AnswerPart(sides[0], sides[1])]
    assert isinstance(a, Branches) and isinstance(b, Branches)
    keys = list(dict.fromkeys((*a.chances, *b.chances)))
    with np.errstate(divide="ignore"):
        logs = [np.log([side.chances.get(key, 0.0) for key in keys]) for side in (a, b)]
    # What follows an outcome of one side alone tells no more than the outcome.
    then = [(a.then.get(key, b.then.get(key, ())), b.then.get(key, a.then.get(key, ()))) for key in keys]
    pairs = (Together(tuple(s for x, y in zip(*both, strict=True) for s in _between(x, y))) for both in then)
    return [Adaptive(AnswerPart(logs[0], logs[1]), tuple(pairs))]


def _check_numbers(met: _Met) -> None:
    """Run the step on both contents with the same noise: the answers are as far apart as the stated numbers."""
    drawn, answers, stated = met.step.draw(RecordedRandomness("shift")), [], []
    for exact, law in zip((met.here, met.there), met.laws, strict=True):
        outcome, told = met.step.run(exact, drawn, RecordedRandomness("run")), _telling(law)
        assert isinstance(outcome, Value) and isinstance(told, Value)
        answers.append(outcome.values)
        stated.append(told.values)
    if not np.array_equal(answers[1] - answers[0], stated[1] - stated[0]):
        raise InternalError(f"{type(met.step).__name__} adds noise to other numbers than its exact law states.")


def _keyed(step: Any, part: Part) -> Part:
    """A file and its neighbour have fingerprints of their own: a key without them shows the difference of both lists.

    Streams are compared under so wide a law that equal noise by chance is out of the question.
    """
    assert isinstance(part, Noised) and isinstance(step, AdditiveMeasurement)
    wide: Any = replace(step, mechanism=DiscreteLaplace(Fraction(1, 10**9)))  # type: ignore[type-var]
    keyed = (wide.with_secret(fingerprint=name, secret=_SECRET) for name in ("one", "two"))
    first, second = (one.draw(RecordedRandomness("none")) for one in keyed)
    is_same = (first == second).tolist()
    return replace(part, laws=[None if same else law for same, law in zip(is_same, part.laws, strict=True)])
