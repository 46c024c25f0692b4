"""Record and play: how far what meets the noise moves between neighbours, against what was stated of it.

A request is planned on the public path, and the gate drives its plan on one data set while every call of noise is
recorded: the law, the draws, and for a selection the law of the choice. The same plan is then played on a neighbour
with the recorded draws and the recorded answers, so that later steps are the same. What differs between the two is what
the noise has to hide. Nothing is taken from a statistic or a step: how an answer depends on its noise is found by
moving one draw at a time, and what was stated is what the gate was told (the sensitivity that a mechanism was priced
with, or the loss that the step was charged).

A step whose draws differ between the neighbours (one for each record or label, or of a scale that follows the data) has
no input that recorded draws could meet: it is left `is_open`, and the exact law that it states is another attacker's
matter (`dalenius/audit/steps.py`).
"""

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, log
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from dalenius.core import registry
from dalenius.core.contracts import Measurement, Source
from dalenius.core.law import FloatArray, IntArray, IntegerLaw
from dalenius.core.plan import TablePlan
from dalenius.core.profile import PrivacyProfile
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator import gate
from dalenius.exact import quantile_selection, several_quantiles
from dalenius.exact.ideal_rounding import discrete_laplace
from dalenius.exact.quantile_selection import drawn_point
from dalenius.exact.sampling import sample
from dalenius.exact.several_quantiles import spread
from dalenius.measurements.blocks.blocks import Blocks, Reports
from dalenius.measurements.selections.cells import gaps
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius_lab.attackers.record_and_play import Portions


@dataclass(eq=False)
class NoiseCall:
    """One call of noise before the data are read: the law, and what was drawn."""

    law: IntegerLaw
    drawn: IntArray


@dataclass(eq=False)
class Choice:
    """One choice among candidates: runs of them (first, last), the logarithm of the probability of each, and what was
    chosen.

    Where scores alone were heard, they stand for the logarithms, and nothing for the choice: the rate of the step turns
    them into a law.
    """

    firsts: IntArray
    lasts: IntArray
    logs: FloatArray
    chosen: int | None


@dataclass(eq=False)
class StepRecord:
    """What the recorder saw of one step."""

    kind: str
    profile: PrivacyProfile | None = None
    told: list[tuple[Any, Sensitivity]] = field(default_factory=list)
    calls: list[NoiseCall] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    outcome: Outcome | None = None
    is_open: bool = False


Path = Sequence[StepRecord]


class Played:
    """A plan whose steps are recorded; with a path, its draws and answers are played again.

    `moved` adds whole numbers to the draws of every step, in order, to find out how answers depend on them.
    """

    def __init__(self, plan: TablePlan, seed: object, path: Path | None = None, moved: IntArray | None = None) -> None:
        self.plan, self.path, self.moved = plan, path, moved
        self.rng, self._heard = Portions(f"{seed}"), 0
        self.records: list[StepRecord] = []
        self.reservation, self.definition, self.neighbours = (plan.reservation, plan.definition, plan.neighbours)

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The steps of the plan, each followed by the answer of the path."""
        steps = self.plan.steps()
        measurement = next(steps, None)
        while measurement is not None:
            record = StepRecord(type(measurement).__name__)
            self.records.append(record)
            self.rng.sizes.clear()
            self._heard = 0
            record.outcome = yield measurement
            # What was drawn unheard, for each record, is not the same on a neighbour; a selection by scores draws after
            # they were heard.
            is_scored = any(choice.chosen is None for choice in record.choices)
            record.is_open |= self.rng.taken > self._heard and not is_scored
            record.profile = measurement.profile(self.neighbours)
            answer = self._before.outcome if self._before is not None else record.outcome
            assert answer is not None
            try:
                measurement = steps.send(answer)
            except StopIteration:
                return

    @property
    def _before(self) -> StepRecord | None:
        place = len(self.records) - 1
        return None if self.path is None or place >= len(self.path) else self.path[place]

    def sample(self, law: IntegerLaw, size: int, rng: RandomSource) -> IntArray:
        """Recorded draws where there are some, moved as asked for."""
        record, before = self.records[-1], self._before
        with self._hearing():
            drawn = sample(law, size, rng)
        if before is not None:
            place = len(record.calls)
            is_same = place < len(before.calls) and len(before.calls[place].drawn) == size
            record.is_open |= not is_same
            drawn = before.calls[place].drawn.copy() if is_same else drawn
        begun = sum(len(call.drawn) for call in record.calls)
        record.calls.append(NoiseCall(law, drawn.copy()))
        return drawn if self.moved is None else drawn + self.moved[begun : begun + size]

    def _single(self, scale: Any, rng: RandomSource) -> int:
        """One draw of discrete Laplace noise by its scale."""
        return int(self.sample(DiscreteLaplace(1 / Fraction(scale)), 1, rng)[0])

    def chosen(self, firsts: IntArray, lasts: IntArray, weights: Sequence[int], made: int) -> int:
        """A choice by weights, recorded; the recorded one where there is one."""
        record, before = self.records[-1], self._before
        sizes = [int(last - first + 1) for first, last in zip(firsts, lasts, strict=True)]
        total = sum(weight * size for weight, size in zip(weights, sizes, strict=True))
        logs = np.array([log(weight) - log(total) if weight else -inf for weight in weights])
        place = len(record.choices)
        recorded = before.choices[place].chosen if before and place < len(before.choices) else None
        if recorded is not None:
            made = recorded
        elif before is not None:
            record.is_open = True
        record.choices.append(Choice(np.asarray(firsts), np.asarray(lasts), logs, made))
        return made

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """Inside, bytes are taken for a call that is recorded."""
        before = self.rng.taken
        yield
        self._heard += self.rng.taken - before

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside, calls of noise come here first."""
        with ExitStack() as heard:
            for mechanism in registry.every("mechanisms").values():
                heard.enter_context(patch.object(mechanism, "profile", self._told(mechanism.profile)))
            heard.enter_context(patch.object(Blocks, "drawn", _parted))
            calls = {
                sample: self.sample,
                drawn_point: self._point(drawn_point),
                spread: _unspread,
                discrete_laplace: self._single,
                gaps: self._scores(gaps),
            }
            for called, instead in calls.items():
                for module in _callers(called):
                    heard.enter_context(patch.object(module, called.__name__, instead))
            yield

    def _told(self, right: Any) -> Any:
        def profile(mechanism: Any, sensitivity: Sensitivity, relation: Any) -> PrivacyProfile:
            if self.records and (mechanism, sensitivity) not in self.records[-1].told:
                self.records[-1].told.append((mechanism, sensitivity))
            told: PrivacyProfile = right(mechanism, sensitivity, relation)
            return told

        return profile

    def _point(self, right: Any) -> Any:
        def drawn_point(runs: Any, w: tuple[int, ...], rng: RandomSource) -> int:
            firsts, lasts, scores = runs
            weights = [w[min(int(score), len(w) - 1)] for score in scores]
            with self._hearing():
                made = right(runs, w, rng)
            return self.chosen(firsts, lasts, weights, made)

        return drawn_point

    def _scores(self, right: Any) -> Any:
        def gaps(*arguments: Any) -> Any:
            listed = right(*arguments)
            places = np.arange(len(listed))
            scores = -np.array([float(gap) for gap in listed])
            self.records[-1].choices.append(Choice(places, places, scores, None))
            return listed

        return gaps


def _callers(function: Any) -> list[ModuleType]:
    """The modules of private steps, and of selections that they share, which call a function by its name."""
    homes = ("dalenius.measurements.", *(module.__name__ for module in (quantile_selection, several_quantiles)))
    held = [module for name, module in list(sys.modules.items()) if name.startswith(homes)]
    return [module for module in held if vars(module).get(function.__name__) is function]


def _unspread(values: IntArray, fineness: int, rng: RandomSource) -> IntArray:
    """Records that share a value are parted by chance, each by itself; here all fall on the same part, on
    either side.
    """
    return values * fineness


def _parted(blocks: Blocks, values: IntArray, rng: RandomSource) -> Reports:
    """Every record has a block by chance, each by itself; here by its value, so that records of both sides have the
    same.
    """
    keys = values if values.ndim == 1 else values.sum(axis=1)
    return blocks.reports(values, np.asarray(keys % blocks.count, dtype=np.int64))


def play(
    plan: TablePlan, source: Source, *, path: Path | None = None, moved: IntArray | None = None, seed: object = "played"
) -> list[StepRecord]:
    """Drive a plan through the gate on one data set, and return what was heard of each step."""
    played = Played(gate.with_keys(plan, "one file", b"a secret of the attacker"), seed, path, moved)
    with played.listening():
        gate.run(played, source, plan.neighbours, plan.reservation, played.rng)
    return played.records
