"""How far what meets the noise moves between neighbours, in units of what was stated: norms of a shift, or losses of
choices.

Where a mechanism was priced with one sensitivity, each of its norms is compared. Elsewhere the loss that the moved
answers have under the recorded laws (Gaussian: half the squared distance in the metric of the noise; Laplace: rates
times shifts; choices: the largest ratio of probabilities) is compared with what the step was charged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from dalenius.core.contracts import Measurement, Source
from dalenius.core.law import FloatArray, IntArray, IntegerLaw
from dalenius.core.plan import TablePlan
from dalenius.core.release import Value
from dalenius.core.sensitivity import Sensitivity
from dalenius_lab.attackers.noise_recorder import Choice, StepRecord, play

# Answers with more draws than that are not taken apart.
MOST_DRAWS = 80
# Charges are rational and rounded up; distances by floating point are not.
ALLOWED = 1 + 1e-6
Shape = tuple[str, int, int]
NoiseMaps = list[tuple[Shape, FloatArray | None]]


@dataclass(frozen=True)
class Distance:
    """How far one step moved, in units of what was stated of it; None where there is no input that noise is
    added to.
    """

    kind: str
    ratio: float | None


class NeighbourPlay:
    """A plan recorded on one data set, and played on neighbours of it."""

    def __init__(
        self, plan: TablePlan, source: Source, seed: object = "played", maps: "NoiseMaps | None" = None
    ) -> None:
        self.plan, self.seed = plan, seed
        self.path = play(plan, source, seed=seed)
        # Whatever engine reads the data, answers depend on noise in the same way.
        is_known = maps is not None and [shape for shape, _ in maps] == [_shape(step) for step in self.path]
        self.maps = maps if maps is not None and is_known else self._noise_maps(source)

    def _noise_maps(self, source: Source) -> NoiseMaps:
        """How the answer of each step depends on its draws; None where it does not do so linearly."""
        draws = [sum(len(call.drawn) for call in record.calls) for record in self.path]
        most = max(draws, default=0)
        if most > MOST_DRAWS:
            return [(_shape(record), None) for record in self.path]
        columns: list[list[FloatArray | None]] = [[] for _ in self.path]
        for place in range(most):
            moved = np.zeros(most, dtype=np.int64)
            moved[place] = 1
            records = play(self.plan, source, path=self.path, moved=moved, seed=self.seed)
            for number, record in enumerate(records):
                if place < draws[number]:
                    columns[number].append(_difference(record, self.path[number]))
        mixed = np.arange(1, most + 1, dtype=np.int64) % 5 - 7
        records = play(self.plan, source, path=self.path, moved=mixed, seed=self.seed)
        return [
            (_shape(before), _linear(column, mixed, _difference(record, before)))
            for column, record, before in zip(columns, records, self.path, strict=True)
        ]

    def distances(self, source: Source) -> list[Distance]:
        """How far every step moves on a neighbour."""
        records = play(self.plan, source, path=self.path, seed=self.seed)
        steps = list(self._steps())
        return [
            Distance(record.kind, self._ratio(number, record, steps[number])) for number, record in enumerate(records)
        ]

    def _steps(self) -> Iterator[Measurement]:
        steps = self.plan.steps()
        step = next(steps, None)
        for record in self.path:
            assert step is not None
            yield step
            try:
                step = steps.send(record.outcome)  # type: ignore[arg-type]
            except StopIteration:
                return

    def _ratio(self, number: int, record: StepRecord, step: Measurement) -> float | None:
        before, (_, noise_map) = self.path[number], self.maps[number]
        if before.choices:
            return None if record.is_open else _chosen_ratio(before, record, step)
        moved = _difference(record, before)
        if record.is_open or noise_map is None or moved is None:
            return None
        return _moved_ratio(noise_map, moved, before)


def _shape(record: StepRecord) -> Shape:
    """The kind of a step, how many draws it took, and how many numbers it gave."""
    answers = len(record.outcome.values) if isinstance(record.outcome, Value) else 0
    return record.kind, sum(len(call.drawn) for call in record.calls), answers


def _difference(record: StepRecord, before: StepRecord) -> FloatArray | None:
    one, other = before.outcome, record.outcome
    if not isinstance(one, Value) or not isinstance(other, Value) or one.values.shape != other.values.shape:
        return None
    return np.asarray(other.values - one.values, dtype=np.float64)


def _linear(columns: list[FloatArray | None], mixed: IntArray, answer: FloatArray | None) -> FloatArray | None:
    """The matrix of the columns, if the answer to a mixture is theirs."""
    held = [column for column in columns if column is not None]
    if answer is None or not np.any(held) or len(held) < len(columns):
        return None
    matrix = np.array(held).T
    return matrix if np.array_equal(matrix @ mixed[: len(held)], answer) else None


def _moved_ratio(matrix: FloatArray, moved: FloatArray, step: StepRecord) -> float | None:
    """The distance in units of the stated sensitivity, or the loss in units of the charge."""
    if not np.any(moved):
        return 0.0
    # Draws that only decide what is listed do not reach the numbers.
    reaches = np.any(matrix != 0, axis=0)
    drawn_by = [call.law for call in step.calls for _ in call.drawn]
    laws = [law for law, is_reaching in zip(drawn_by, reaches, strict=True) if is_reaching]
    matrix = matrix[:, reaches]
    shift = np.linalg.pinv(matrix) @ moved
    if np.abs(matrix @ shift - moved).max() > 1e-6 * np.abs(moved).max():
        # Noise does not reach what moved: it was shown as it is.
        return inf
    stated = _stated(step, laws)
    if stated is not None and _is_plain(matrix):
        return _norms(shift, stated)
    ratios = []
    assert step.profile is not None
    names = {law.name for law in laws}
    if names == {"discrete_gaussian"} and step.profile.rho is not None:
        spread = matrix @ np.diag([float(law.variance) for law in laws]) @ matrix.T
        ratios.append(float(moved @ np.linalg.pinv(spread) @ moved) / 2 / float(step.profile.rho))
    if names == {"discrete_laplace"} and step.profile.epsilon is not None and _is_plain(matrix):
        rates = np.array([float(law.rate) for law in laws])  # type: ignore[attr-defined]
        ratios.append(float(rates @ np.abs(shift)) / float(step.profile.epsilon))
    return max(ratios) if ratios else None


def _stated(step: StepRecord, laws: list[IntegerLaw]) -> Sensitivity | None:
    """The one sensitivity that the noise of these draws was priced with; None where there are several."""
    own = [sensitivity for mechanism, sensitivity in step.told if all(mechanism == law for law in laws)]
    every = list(dict.fromkeys(own or [sensitivity for _, sensitivity in step.told]))
    return every[0] if len(every) == 1 else None


def _is_plain(matrix: FloatArray) -> bool:
    """Whether every answer has a draw of its own."""
    return bool(((matrix != 0).sum(axis=0) <= 1).all() and ((matrix != 0).sum(axis=1) <= 1).all())


def _norms(shift: FloatArray, stated: Sensitivity) -> float:
    size = np.abs(shift)
    pairs = (
        (float((size > 1e-9).sum()), float(stated.l0)),
        (float(size.sum()), float(stated.l1)),
        (float((size**2).sum()), float(stated.l2_squared)),
        (float(size.max()), float(stated.linf)),
    )
    return max(distance / most if most else inf for distance, most in pairs if distance)


def _chosen_ratio(before: StepRecord, record: StepRecord, step: Measurement) -> float | None:
    """The largest losses of all choices together, in units of what the step was charged."""
    assert before.profile is not None
    if before.profile.epsilon is None or len(before.choices) != len(record.choices):
        return None
    flips = record.kind == "PermuteAndFlip"
    lost = 0.0
    for one, other in zip(before.choices, record.choices, strict=True):
        if one.chosen is None:
            rate = float(step.rate)  # type: ignore[attr-defined]
            lost += _scored_loss(rate * one.logs, rate * other.logs, flips=flips)
        else:
            lost += _largest(one, other)
    return lost / float(before.profile.epsilon)


def _largest(one: Choice, other: Choice) -> float:
    """The largest loss of a choice, over all candidates."""
    starts = np.union1d(one.firsts, other.firsts)
    logs = [c.logs[np.searchsorted(c.firsts, starts, side="right") - 1] for c in (one, other)]
    return float(np.abs(logs[0] - logs[1]).max())


def _scored_loss(one: FloatArray, other: FloatArray, *, flips: bool) -> float:
    """The largest loss of a choice by scores: exponential, or permute and flip."""
    laws = [_flipped(scores) if flips else np.exp(scores) / np.exp(scores).sum() for scores in (one, other)]
    return float(np.abs(np.log(laws[0]) - np.log(laws[1])).max())


def _flipped(scores: FloatArray) -> FloatArray:
    """Probabilities of permute and flip: the chance of each at a uniform time, while all before it failed (by
    quadrature).
    """
    heads = np.exp(scores - scores.max())
    times, weights = np.polynomial.legendre.leggauss(40)
    t = (times + 1) / 2
    failed = 1 - np.outer(t, heads)
    every = failed.prod(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = every[:, None] / failed
    return np.asarray(heads * (weights / 2 @ others))
