"""The exact law of every kind of step at two data sets: what its answers show, with nothing taken from its own claim.

Additive steps are run on both data sets with the same noise: the difference of the answers is the shift, and the law of
the noise is listed at both. Selections are listed by their definition. A step of an unknown kind is an error, so that a
new measurement has to be added here.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dalenius.algebra.points import points_of
from dalenius.audit import mixed_steps, neighbours, selections
from dalenius.audit.losses import Adaptive, AnswerPart, Together, certain, shifted
from dalenius.core.contracts import Measurement, Plan, Source
from dalenius.core.law import IntArray, IntegerLaw
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import InternalError
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.block_totals import BlockTotals
from dalenius.measurements.candidate_bounds import CandidateBounds
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.clipped_totals import ClippedTotals
from dalenius.measurements.exponential_quantile import ExponentialQuantile
from dalenius.measurements.exponential_selection import ExponentialSelection
from dalenius.measurements.factored_table import FactoredTable
from dalenius.measurements.fourier import Fourier
from dalenius.measurements.hellinger import Hellinger
from dalenius.measurements.keyed_list import KeyedList
from dalenius.measurements.label_selection import LabelSelection
from dalenius.measurements.learned_bounds import LearnedBounds
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.noisy_values import NoisyValues
from dalenius.measurements.permute_and_flip import PermuteAndFlip
from dalenius.measurements.perturbation_table import PerturbationTable
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.measurements.quantile_points import QuantilePoints
from dalenius.measurements.quantile_table import QuantileTable
from dalenius.measurements.resampled_totals import ResampledTotals
from dalenius.measurements.residual import Residual
from dalenius.measurements.sampled_count import SampledCount
from dalenius.measurements.smooth import Smooth
from dalenius.measurements.tree_residual import TreeResidual
from dalenius.measurements.unbounded_quantile import UnboundedQuantile
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.plans.blocks import WinsorisedPlan
from dalenius.plans.clipped import LearnedClipPlan
from dalenius.plans.clipped_mean import ClippedMeanPlan
from dalenius.plans.pairs import PairPlan
from dalenius.plans.quantiles import QuantilesPlan
from dalenius.plans.refined_count import RefinedCountPlan

Exact = tuple[Sealed[IntArray], ...]
# None where an answer has no noise.
Laws = list[IntegerLaw | None]


def fetched(step: Measurement, source: Source) -> Exact:
    """What a step needs, at one data set."""
    return tuple(neighbours.fetched(source, query) for query in step.needs)


def pair_of(plan: Plan, here: Source, there: Source) -> Together | Adaptive:
    """What the answers to a plan show of the difference between two data sets."""
    steps = plan.steps()
    first = next(steps)
    if isinstance(first, LearnedBounds):
        return _learned(plan, first, here, there)
    if isinstance(first, LabelSelection):
        return mixed_steps.labels(first, fetched(first, here), fetched(first, there))
    if isinstance(plan, RefinedCountPlan):
        return _refined(plan, here, there)
    if isinstance(plan, LearnedClipPlan):
        return _learned_clip(plan, here, there)
    if isinstance(plan, WinsorisedPlan):
        return _winsorised(plan, here, there)
    if isinstance(plan, ClippedMeanPlan):
        return _clipped_mean(plan, here, there)
    channels: list[AnswerPart] = []
    step: Measurement | None = first
    while step is not None:
        exact = fetched(step, here)
        channels += channels_of(step, exact, fetched(step, there))
        if isinstance(plan, PairPlan):
            answer = _unmoved(step, exact)
        else:
            answer = _followed(step, exact) if isinstance(plan, QuantilesPlan) else np.zeros(1, dtype=np.int64)
        try:
            step = steps.send(Value(answer))
        except StopIteration:
            step = None
    return Together(tuple(channels))


def _followed(step: Measurement, exact: Exact) -> IntArray:
    """The answer after which a plan of quantiles goes on; what follows costs the same whatever it is.

    Ranks are those of one data set, and points lie all over the grid, so that counts between them tell every value
    apart.
    """
    if not isinstance(step, QuantilePoints):
        return exact[0].open_below_the_gate()
    places = np.linspace(step.low, step.high, len(points_of(len(step.q))))
    return np.tile(np.rint(places).astype(np.int64), step.space.size)


def _unmoved(step: Measurement, exact: Exact) -> IntArray:
    """The exact answer to a sum, after which influences are measured at the numbers of one data set."""
    assert isinstance(step, Noisy)
    outcome = step.run(exact, np.zeros(step.space.size, dtype=np.int64), RecordedRandomness("run"))
    assert isinstance(outcome, Value)
    return outcome.values


def channels_of(step: Measurement, here: Exact, there: Exact) -> list[AnswerPart]:
    """The independent parts of one step that differ between two exact answers."""
    for kind, made in _KINDS.items():
        if isinstance(step, kind):
            channels: list[AnswerPart] = made(step, here, there)
            return channels
    raise InternalError(f"The attacker does not know the step {type(step).__name__}.")


def shift_of(step: Measurement, here: Exact, there: Exact) -> IntArray:
    """How far the answers are apart when the noise is the same."""
    drawn = step.draw(RecordedRandomness("shift"))
    answers = []
    for exact in (here, there):
        outcome = step.run(exact, drawn, RecordedRandomness("run"))
        assert isinstance(outcome, Value)
        answers.append(outcome.values)
    return np.asarray(answers[1] - answers[0], dtype=np.int64)


def _with_laws(laws: Callable[[Any], Laws]) -> Callable[[Any, Exact, Exact], list[AnswerPart]]:
    def made(step: Any, here: Exact, there: Exact) -> list[AnswerPart]:
        shifts = shift_of(step, here, there).tolist()
        pairs = [(law, s) for law, s in zip(laws(step), shifts, strict=True) if s]
        return [certain(s) if law is None else shifted(law, s) for law, s in pairs]

    return made


def _table_laws(step: Noisy) -> Laws:
    """A structural zero has no noise: any shift there gives the data away."""
    laws: list[IntegerLaw | None] = [step.mechanism] * step.space.size
    for i in step.space.structural_indices:
        laws[i] = None
    return laws


def _clipped_laws(step: ClippedTotals) -> Laws:
    laws: list[IntegerLaw | None] = [DiscreteLaplace(step.epsilon / bound) for bound in step.bounds]
    for i in step.space.structural_indices:
        laws[i] = None
    return laws


def _residual(step: Residual, here: Exact, there: Exact) -> list[AnswerPart]:
    """Shifts of independent noise of which the released differences are a function.

    The released differences of component A come from N_A dM + noise. They see it only up to what does not vary along
    some axis of A, so that its centred part, which is whole as well, gives the same differences: that is asserted here,
    and the centred shift is what the noise must hide.
    """
    tables = [b.open_below_the_gate() - a.open_below_the_gate() for a, b in zip(here, there, strict=True)]
    changes = [(_summed_to(step, margin, tables), variance) for margin, variance in step.grid.items()]
    return _centred(changes, shift_of(step, here, there), 0)


def _centred(changes: list[tuple[IntArray, Fraction]], released: IntArray, first: int) -> list[AnswerPart]:
    """The shifts of all components, centred along their axes from `first` on, if the released differences are those."""
    channels: list[AnswerPart] = []
    position = 0
    for change, variance in changes:
        centred = change.astype(object)
        for axis in range(first, change.ndim):
            centred = change.shape[axis] * centred - centred.sum(axis=axis, keepdims=True)
        differences = np.asarray(centred)
        for axis in range(first, change.ndim):
            differences = differences - np.take(differences, [0], axis=axis)
        if differences.ravel().tolist() != released[position : position + change.size].tolist():
            raise InternalError("A residual component shows more than its centred part.")
        position += change.size
        law = DiscreteGaussian(variance)
        channels += [shifted(law, int(s)) for s in centred.ravel().tolist() if s]
    return channels


def _tree_residual(step: TreeResidual, here: Exact, there: Exact) -> list[AnswerPart]:
    """Likewise inside the nodes of every level; the nodes of a coarser level are sums over their children."""
    tables = [b.open_below_the_gate() - a.open_below_the_gate() for a, b in zip(here, there, strict=True)]
    changes = [(_part_of(step, part, tables), variance) for part, variance in step.grid.items()]
    return _centred(changes, shift_of(step, here, there), 1)


def _part_of(step: TreeResidual, part: tuple[int, tuple[int, ...]], tables: list[IntArray]) -> IntArray:
    """The change of one level by some detail axes, from a fetched table that holds both."""
    wanted, margin = part
    for query, table in zip(step.needs, tables, strict=True):
        assert isinstance(query, TableQuery)
        axes = query.space.axes
        held = [step.detail.index(axis) for axis in axes if axis in step.detail]
        level = next((n for n, axis in enumerate(step.levels, 1) if axis in axes), 0)
        if level < wanted or not set(margin) <= set(held):
            continue
        whole = table.reshape((step.tree.sizes[level], *(step.shape[a] for a in held)))
        whole = whole.sum(axis=tuple(i for i, a in enumerate(held, 1) if a not in margin))
        for parents in reversed(step.tree.parents[wanted:level]):
            above = np.zeros((int(parents.max()) + 1, *whole.shape[1:]), dtype=np.int64)
            np.add.at(above, parents, whole)
            whole = above
        return np.asarray(whole)
    raise InternalError("No fetched table holds this part.")


def _summed_to(step: Residual, margin: tuple[int, ...], tables: list[IntArray]) -> IntArray:
    """The change of one margin, from a fetched table that holds it."""
    for query, table in zip(step.needs, tables, strict=True):
        assert isinstance(query, TableQuery)
        held = [step.axes.index(axis) for axis in query.space.axes]
        if set(margin) <= set(held):
            whole = table.reshape(tuple(step.shape[a] for a in held))
            return np.asarray(whole.sum(axis=tuple(i for i, a in enumerate(held) if a not in margin)))
    raise InternalError("No fetched table holds this margin.")


def _kernelled(step: Any, here: Exact, there: Exact) -> list[AnswerPart]:
    """Each count through its own row of the published table; a structural zero shows nothing."""
    channels = []
    counts = zip(here[0].open_below_the_gate().tolist(), there[0].open_below_the_gate().tolist(), strict=True)
    for cell, (a, b) in enumerate(counts):
        if a == b or cell in step.query.space.structural_indices:
            continue
        reach = max(len(row) for row in step.law.rows) + max(a, b) + 1
        points = np.arange(min(step.law.firsts), min(step.law.firsts) + reach + len(step.law.rows))
        with np.errstate(divide="ignore"):
            sides = [np.log(step.law.pmf(count, points)) for count in (a, b)]
        channels.append(AnswerPart(sides[0], sides[1]))
    return channels


def _several_quantiles(step: ApproximateQuantiles, here: Exact, there: Exact) -> list[AnswerPart]:
    listed = selections.several_quantiles if step.blocks is None else mixed_steps.block_quantiles
    return listed(step, here, there)


def _learned(plan: Any, first: LearnedBounds, here: Source, there: Source) -> Adaptive:
    """Every vector of bounds, and the clipped totals that follow it."""
    exact = fetched(first, here), fetched(first, there)
    cells = [
        [
            selections.selected(
                np.abs(e.open_below_the_gate()), 0, first.largest, first.q, first.epsilon, first._change
            )
            for e in side
        ]
        for side in exact
    ]
    sides: tuple[list[float], list[float]] = ([], [])
    then = []
    for bounds in product(range(first.largest + 1), repeat=first.space.size):
        for side, laws in zip(sides, cells, strict=True):
            side.append(sum(float(law[b]) for law, b in zip(laws, bounds, strict=True)))
        second = plan.second(tuple(max(first.least, b) for b in bounds))
        then.append(Together(tuple(channels_of(second, *exact))))
    return Adaptive(AnswerPart(np.array(sides[0]), np.array(sides[1])), tuple(then))


def _refined(plan: RefinedCountPlan, here: Source, there: Source) -> Adaptive:
    """Every coarse answer near the data, and the fine counts of the groups that it makes large."""
    coarse = plan.measurements[0]
    counts = [fetched(coarse, side)[0].open_below_the_gate().tolist() for side in (here, there)]
    reach = range(-6, max(max(side) for side in counts) + 7)
    law, sides, then = plan.procedure.coarse_mechanism, ([], []), []  # type: ignore[var-annotated]
    pairs: dict[tuple[int, ...], Together] = {}
    for answer in product(reach, repeat=len(counts[0])):
        for side, exact in zip(sides, counts, strict=True):
            noise = np.array(answer, dtype=np.int64) - np.array(exact, dtype=np.int64)
            side.append(float(law.log_pmf(noise).sum()))
        large = tuple(g for g, v in enumerate(answer) if v >= plan.procedure.threshold)
        if large not in pairs:
            steps = plan.procedure.steps()
            next(steps)
            try:
                fine = steps.send(Value(np.array(answer, dtype=np.int64)))
                pairs[large] = Together(tuple(channels_of(fine, fetched(fine, here), fetched(fine, there))))
            except StopIteration:
                pairs[large] = Together(())
        then.append(pairs[large])
    return Adaptive(AnswerPart(np.array(sides[0]), np.array(sides[1])), tuple(then))


def _learned_clip(plan: LearnedClipPlan, here: Source, there: Source) -> Adaptive:
    """Every answer about the sizes of persons near the data, and the table under the bound that it chooses."""
    first = plan.measurements[0]
    assert isinstance(first, Noisy)
    counts = [fetched(first, side)[0].open_below_the_gate() for side in (here, there)]
    reach = range(-5, max(int(side.max()) for side in counts) + 6)
    chances: dict[tuple[str, float], list[float]] = {}
    pairs: dict[str, Together] = {}
    for answer in product(reach, repeat=len(counts[0])):
        own, other = (
            float(first.mechanism.log_pmf(np.array(answer, dtype=np.int64) - exact).sum()) for exact in counts
        )
        bound = plan.chosen(np.array(answer, dtype=np.int64))
        # Answers that choose one bound and tell as much of the data are one outcome.
        chances.setdefault((bound.name, round(own - other, 9)), []).append(own)
        if bound.name not in pairs:
            both = fetched(bound.step, here), fetched(bound.step, there)
            pairs[bound.name] = Together(tuple(channels_of(bound.step, *both)))
    here_chances = np.array([np.logaddexp.reduce(each) for each in chances.values()])
    losses = np.array([loss for _, loss in chances])
    then = tuple(pairs[name] for name, _ in chances)
    return Adaptive(AnswerPart(here_chances, here_chances - losses), then)


def _rest(plan: TablePlan, answer: IntArray, here: Source, there: Source) -> Together:
    """What the steps after the first show, where that gave this answer."""
    steps, channels = plan.steps(), list[AnswerPart]()
    next(steps)
    sent = Value(answer)
    while True:
        try:
            step = steps.send(sent)
        except StopIteration:
            return Together(tuple(channels))
        channels += channels_of(step, fetched(step, here), fetched(step, there))


def _clipped_mean(plan: ClippedMeanPlan, here: Source, there: Source) -> Adaptive:
    """Every pair of candidates, and the sums between them."""
    first = plan.measurements[0]
    assert isinstance(first, CandidateBounds)
    laws = [
        np.array([float(p) for p in first.chances(fetched(first, side)[0].open_below_the_gate())])
        for side in (here, there)
    ]
    places = list(product(range(len(first.candidates)), repeat=2))
    possible = np.flatnonzero(laws[0] + laws[1])
    then = [_rest(plan, np.array(places[k], dtype=np.int64), here, there) for k in possible]
    with np.errstate(divide="ignore"):
        sides = [np.log(law[possible]) for law in laws]
    return Adaptive(AnswerPart(sides[0], sides[1]), tuple(then))


def _winsorised(plan: WinsorisedPlan, here: Source, there: Source) -> Adaptive:
    """Every pair of quartiles of the blocks, and the sums between the ends that they set; each step draws its own
    blocks.
    """
    first, *_ = plan.measurements
    assert isinstance(first, ApproximateQuantiles)
    (quartiles,) = channels_of(first, fetched(first, here), fetched(first, there))
    then, count = [], first.high - first.low + 1
    answers = [(a, b) for a, b in product(range(count), repeat=2) if a <= b]
    if len(answers) != len(quartiles.here):
        raise InternalError("Quartiles rise, and every pair of them can be selected.")
    for answer in answers:
        then.append(_rest(plan, np.array(answer, dtype=np.int64) + first.low, here, there))
    return Adaptive(quartiles, tuple(then))


_KINDS: dict[type, Callable[[Any, Exact, Exact], list[AnswerPart]]] = {
    FactoredTable: _with_laws(lambda step: [step.mechanism] * step.size),
    Noisy: _with_laws(_table_laws),
    NoisyValues: _with_laws(lambda step: [step.mechanism]),
    Fourier: _with_laws(lambda step: list(step.noise.values())),
    ClippedTotals: _with_laws(_clipped_laws),
    Residual: _residual,
    TreeResidual: _tree_residual,
    ExponentialQuantile: selections.quantile,
    QuantileTable: selections.quantiles_by_cell,
    QuantilePoints: selections.points_by_cell,
    ApproximateQuantiles: _several_quantiles,
    Smooth: selections.smooth,
    UnboundedQuantile: selections.unbounded,
    Hellinger: _kernelled,
    PerturbationTable: _kernelled,
    PermuteAndFlip: selections.flipped,
    ExponentialSelection: selections.exponential,
    KeyedList: mixed_steps.keyed,
    SampledCount: mixed_steps.sampled,
    BlockTotals: mixed_steps.block_totals,
    ProposeTestRelease: mixed_steps.proposed,
    Cascade: mixed_steps.cascaded,
    ResampledTotals: mixed_steps.resampled,
}
