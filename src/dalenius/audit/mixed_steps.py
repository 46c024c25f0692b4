"""The exact law of steps that draw more than noise: samples, partitions into blocks, multiplicities, tests and keyed
streams.

What a step draws beside its noise is gone through by enumeration or by convolution, from its description alone: a
sample is binomial in each cell, blocks are all partitions of a short list, multiplicities are Poisson(1) and drawn anew
for every replicate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, lgamma, log, perm, prod
from typing import Any

import numpy as np

from dalenius.audit.losses import Adaptive, AnswerPart, Together, certain, listed, shifted
from dalenius.audit.selections import lists_of
from dalenius.core.law import FloatArray, IntArray, IntegerLaw
from dalenius.core.sealed import Sealed
from dalenius.errors import TooLarge
from dalenius.measurements.approximate_quantiles import ApproximateQuantiles
from dalenius.measurements.block_totals import BlockTotals
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.cascade import Cascade
from dalenius.measurements.keyed_list import KeyedList
from dalenius.measurements.label_selection import LabelSelection
from dalenius.measurements.propose_test_release import ProposeTestRelease
from dalenius.measurements.resampled_totals import ResampledTotals
from dalenius.measurements.sampled_count import SampledCount
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

Exact = tuple[Sealed[IntArray], ...]
# All partitions of so many records are gone through.
MOST_PARTED = 7
_MOST_MULTIPLICITY = 30
_SECRET = b"a secret of the attacker"


def keyed(step: KeyedList, here: Exact, there: Exact) -> list[AnswerPart]:
    """A file and its neighbour have fingerprints of their own: where the key forgets them, both lists together show the
    difference.

    Whether two streams are the same is looked up with a law so wide that equal noise by chance is out of the question.
    """
    tables = [side[0].open_below_the_gate().tolist() for side in (here, there)]
    wide = replace(step, mechanism=DiscreteLaplace(Fraction(1, 10**9)))
    streams = [wide.with_secret(fingerprint=f, secret=_SECRET).draw(_NoRandomness()) for f in ("one", "two")]
    structural = set(step.query.space.structural_indices)
    channels = []
    for cell, (a, b) in enumerate(zip(*tables, strict=True)):
        if a == b:
            continue
        is_shown = cell in structural or streams[0][cell] == streams[1][cell]
        channels.append(certain(b - a) if is_shown else shifted(step.mechanism, b - a))
    return channels


class _NoRandomness:
    """Keyed noise asks no other source; this one has nothing to give."""

    is_tainted = True

    def bytes(self, count: int) -> bytes:
        """Never asked."""
        raise NotImplementedError


def sampled(step: SampledCount, here: Exact, there: Exact) -> list[AnswerPart]:
    """Each cell by itself: a binomial number of its records, plus noise."""
    channels = []
    structural = set(step.query.space.structural_indices)
    counts = [side[0].open_below_the_gate().tolist() for side in (here, there)]
    for cell, (a, b) in enumerate(zip(*counts, strict=True)):
        if a == b:
            continue
        if cell in structural:
            channels.append(certain(b - a))
            continue
        sides = [_thinned(step, count) for count in (a, b)]
        channels.append(_mixed(step.mechanism, *sides))
    return channels


def _thinned(step: SampledCount, count: int) -> dict[int, float]:
    """Chances of every number of drawn records."""
    q = float(step.fraction)
    return {k: comb(count, k) * q**k * (1 - q) ** (count - k) for k in range(count + 1)}


def block_totals(step: BlockTotals, here: Exact, there: Exact) -> list[AnswerPart]:
    """A sum over the blocks of every partition, plus noise."""
    sides = []
    for side in (here, there):
        totals: dict[int, float] = {}
        for numbers, chance in _parted(step.blocks, side[0].open_below_the_gate()):
            total = step.total(numbers)
            totals[total] = totals.get(total, 0.0) + chance
        sides.append(totals)
    return [_mixed(step.mechanism, *sides)]


def block_quantiles(step: ApproximateQuantiles, here: Exact, there: Exact) -> list[AnswerPart]:
    """Selections among what the blocks of every partition say."""
    sides = [_selections(step, side[0].open_below_the_gate()) for side in (here, there)]
    return [AnswerPart(sides[0], sides[1])]


def _selections(step: ApproximateQuantiles, values: IntArray) -> FloatArray:
    assert step.blocks is not None
    lists: dict[tuple[int, ...], float] = {}
    for numbers, chance in _parted(step.blocks, values):
        said = tuple(sorted(numbers.tolist()))
        lists[said] = lists.get(said, 0.0) + chance
    laws = [log(chance) + lists_of(step, np.array(said)) for said, chance in lists.items()]
    return np.asarray(np.logaddexp.reduce(laws, axis=0))


def _parted(blocks: Blocks, values: IntArray) -> Iterator[tuple[IntArray, float]]:
    """What the blocks report for every way to part the records, and its probability; which block is which tells
    nothing.
    """
    n = len(values)
    if n > MOST_PARTED:
        raise TooLarge("Too many partitions to be gone through.", received=n, limit=MOST_PARTED)
    for places in _growing(n, blocks.count):
        parts = 1 + max(places, default=-1)
        chance = perm(blocks.count, parts) / blocks.count**n
        yield blocks.numbers(values, np.array(places, dtype=np.int64)), chance


def _growing(length: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every partition of a list once: each entry is in a part before it, or in the next new one."""
    if not length:
        yield ()
        return
    for begun in _growing(length - 1, most):
        for part in range(min(2 + max(begun, default=-1), most)):
            yield (*begun, part)


def proposed(step: ProposeTestRelease, here: Exact, there: Exact) -> list[AnswerPart]:
    """No reply, or an answer with noise at the bound; the test is the noise that the distance must pass."""
    centres, silences = [], []
    for side in (here, there):
        values = side[0].open_below_the_gate()
        distance = step.statistic.distance(values, step.bound, step.neighbours)
        points, log_chances = listed(DiscreteLaplace(step.test), 0)
        silences.append(float(np.exp(log_chances[points + distance <= step.threshold]).sum()))
        centres.append(int(step.statistic.value(values)))
    answers = shifted(step.mechanism, centres[1] - centres[0])
    with np.errstate(divide="ignore"):
        sides = [
            np.concatenate([[np.log(silent)], np.log1p(-min(silent, 1.0)) + law])
            for silent, law in zip(silences, (answers.here, answers.there), strict=True)
        ]
    return [AnswerPart(sides[0], sides[1])]


def cascaded(step: Cascade, here: Exact, there: Exact) -> list[AnswerPart]:
    """No reply, or a bound and an answer with its noise; all tests are one noise that the distances must pass."""
    points, log_chances = listed(DiscreteLaplace(step.rate), 0)
    chances, centres = np.exp(log_chances), []
    passed: list[list[float]] = []
    for side in (here, there):
        values = side[0].open_below_the_gate()
        needed = np.array(step.thresholds) - np.array(step.distances(values))
        passes = points[:, None] > needed
        places = np.where(passes.any(axis=1), passes.argmax(axis=1), -1)
        passed.append([float(chances[places == place].sum()) for place in range(-1, len(needed))])
        centres.append(int(step.statistic.value(values)))
    with np.errstate(divide="ignore"):
        sides: list[list[FloatArray]] = [[np.log([places[0]])] for places in passed]
        for place, mechanism in enumerate(step.mechanisms, start=1):
            answers = shifted(mechanism, centres[1] - centres[0])
            for parts, odds, law in zip(sides, passed, (answers.here, answers.there), strict=True):
                parts.append(np.log(odds[place]) + law)
    return [AnswerPart(np.concatenate(sides[0]), np.concatenate(sides[1]))]


def resampled(step: ResampledTotals, here: Exact, there: Exact) -> list[AnswerPart]:
    """Each replicate of each cell by itself: what rows add, times Poisson(1) numbers of their own, plus normal noise;
    then the sums.
    """
    structural = set(step.space.structural_indices)
    cells = [step._added([sealed.open_below_the_gate() for sealed in side]) for side in (here, there)]
    channels = []
    for cell, both in enumerate(zip(*cells, strict=True)):
        added = [{int(v): int(c) for v, c in zip(*pair, strict=True) if c and v} for pair in both]
        sums = [step.summed(*pair) for pair in both]
        if added[0] == added[1] and sums[0] == sums[1]:
            continue
        if cell in structural:
            channels.append(certain(1))
            continue
        part = _mixed(step.noise, *(_compound(one) for one in added))
        channels += [part] * step.price.replicates
        for law, first, second in zip(step.sum_noises, *sums, strict=True):
            channels.append(_mixed(law, {first: 1.0}, {second: 1.0}))
    return channels


def labels(step: LabelSelection, here: Exact, there: Exact) -> Adaptive:
    """Every list of texts that either side can show, and for each of them the numbers of its texts and of the rest."""
    sides: list[dict[str, int]] = [dict(side[0].open_below_the_gate()) for side in (here, there)]
    texts = sorted({text for side in sides for text in side})
    noise, log_chances = listed(step.screen, 0)
    chances: list[list[float]] = [[], []]
    then = []
    for shown in product((False, True), repeat=len(texts)):
        for side, odds in zip(sides, chances, strict=True):
            # A text that nobody has is not in the data, so that it is never listed.
            above = [
                float(np.exp(log_chances[noise + side[t] > step.threshold]).sum()) if t in side else 0.0 for t in texts
            ]
            odds.append(prod(p if is_shown else 1 - p for p, is_shown in zip(above, shown, strict=True)))
        named = [text for text, is_shown in zip(texts, shown, strict=True) if is_shown]
        moves = [sides[1].get(t, 0) - sides[0].get(t, 0) for t in named]
        moves.append(sum(sides[1].values()) - sum(sides[0].values()) - sum(moves))
        then.append(Together(tuple(shifted(step.noise, move) for move in moves if move)))
    with np.errstate(divide="ignore"):
        lists = [np.log(np.array(odds)) for odds in chances]
    return Adaptive(AnswerPart(lists[0], lists[1]), tuple(then))


def _compound(added: dict[int, int]) -> dict[int, float]:
    """The law of a sum of Poisson numbers of each value, up to multiplicities that are never met."""
    totals = {0: 1.0}
    for value, count in added.items():
        most = _MOST_MULTIPLICITY + 3 * count
        odds = [np.exp(k * log(count) - count - lgamma(k + 1)) for k in range(most)]
        further: dict[int, float] = {}
        for total, chance in totals.items():
            for k, p in enumerate(odds):
                if chance * p > 1e-40:
                    further[total + k * value] = further.get(total + k * value, 0.0) + chance * float(p)
        totals = further
    return totals


def _mixed(law: IntegerLaw, here: dict[int, float], there: dict[int, float]) -> AnswerPart:
    """Noise about a random centre, on either side."""
    centres = [*here, *there]
    middle = (min(centres) + max(centres)) // 2
    reach = max(centres) - middle + 1
    points, _ = listed(law, reach)
    sides: list[FloatArray] = [_mixture(law, points, middle, side) for side in (here, there)]
    return AnswerPart(sides[0], sides[1])


def _mixture(law: IntegerLaw, points: IntArray, middle: int, centres: dict[int, float]) -> FloatArray:
    with np.errstate(divide="ignore"):
        parts: Sequence[Any] = [
            np.asarray(law.log_pmf(points - (centre - middle)), dtype=np.float64) + log(chance)
            for centre, chance in centres.items()
            if chance > 0
        ]
    whole = parts[0]
    for part in parts[1:]:
        whole = np.logaddexp(whole, part)
    return np.asarray(whole)
