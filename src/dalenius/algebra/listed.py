"""Estimates of every margin of a list, from lists of their sums: sums add up, and g is taken of each shown cell.

Each sum, or each table of classes, was measured as a list of margins of its own, so that noise is independent between
lists. Classes of one list share noise: the covariance of two of them in a cell is the same for every pair, and follows
from the variances of a class and of their sum. It is carried by one more array of value 0, whose variance may be
negative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.distributions import ClassNoise, Distribution, grain_of, upper_squares
from dalenius.algebra.estimate_law import EstimateLaw, LinearForm
from dalenius.algebra.estimates import CURVES, estimator_of, flat, within_limits
from dalenius.algebra.intervals import Estimated, estimate
from dalenius.algebra.sums import EXCESS, MeasuredArrays, Sums
from dalenius.core.estimate import draws_of, rows_per_unit
from dalenius.core.law import Additive, FloatArray, Joint, Law, law_from_dict
from dalenius.core.release import Block

LISTS = "estimates of lists"
"""The law of a list of estimates."""
_MeasuredList = tuple[Mapping[str, Any], Sequence[FloatArray], Sequence[FloatArray], float, float]
_PIECE = 1 << 16
"""Cells whose estimates are made at once."""


def is_list_of_estimates(law: Law) -> bool:
    return isinstance(law, Joint) and law.structure == LISTS


def margins_of(law: Joint) -> int:
    return int(law.parameters["margins"])


def estimates_of_lists(law: Joint, blocks: Sequence[Block]) -> tuple[Estimated, ...]:
    """The estimates of every margin, in the order in which they are shown."""
    lists = _measured_lists(law, blocks)
    if law.parameters["estimate"].get("estimate") == CURVES:
        return tuple(_curves(law.parameters["estimate"], lists, margin) for margin in range(margins_of(law)))
    stated = EstimateLaw.of(Joint("estimate", law.parameters["estimate"]))
    return tuple(_in_pieces(stated, lists, margin) for margin in range(margins_of(law)))


def correlation_bound(law: Joint, first: tuple[int, int], second: tuple[int, int]) -> float:
    """The largest correlation, to either sign, of the noise of two cells; each is a shown table and a place in it.

    Noise is independent between lists, so that a number made of all their sums has no larger one (Cauchy and Schwarz).
    Curves and classes are taken as if they had the same noise.
    """
    if any("classes" in part for part in law.parameters["lists"]) or max(first[0], second[0]) >= margins_of(law):
        return 1.0
    largest = 0.0
    for part in law.parameters["lists"]:
        own = joint.read_law(law_from_dict(part["law"]))
        both, one, two = (
            float(own.covariance(a[0], [a[1]], b[0], [b[1]])[0, 0])
            for a, b in ((first, second), (first, first), (second, second))
        )
        largest = max(largest, abs(both) / np.sqrt(one * two) if one * two > 0 else 1.0)
    return min(largest, 1.0)


def _measured_lists(law: Joint, blocks: Sequence[Block]) -> list[_MeasuredList]:
    """Every list with what least squares makes of its blocks."""
    lists: list[_MeasuredList] = []
    first = 0
    for part in law.parameters["lists"]:
        own, many = law_from_dict(part["law"]), int(part["blocks"])
        assert isinstance(own, Joint)
        measured = blocks[first : first + many]
        excess = EXCESS if any(_is_heavy(block.law) for block in measured) else 0.0
        grain = grain_of(block.law for block in measured)
        lists.append((part, joint.estimates(measured, own), joint.variances(own), excess, grain))
        first += many
    return lists


def _curves(parameters: Mapping[str, Any], lists: Sequence[_MeasuredList], margin: int) -> Estimated:
    """Distribution functions of every cell of a margin; the second list is of squared weights."""
    (counts, noise), *squared = (_bins(*each, margin) for each in lists)
    squares = [upper_squares(values, own.of_bin) for values, own in squared]
    is_weighted = "weight" in parameters
    made = Distribution(
        counts,
        noise,
        rows=rows_per_unit(parameters),
        least=float(parameters.get("least", 1.0)),
        squares=squares[0] if squares else None,
        is_weighted=is_weighted,
    )
    has_sampling = draws_of(parameters).has_sampling(is_weighted=is_weighted)
    return within_limits(flat(made), parameters["limits"], has_sampling=has_sampling)


def _bins(
    part: Mapping[str, Any],
    values: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    excess: float,
    grain: float,
    margin: int,
    some: slice = slice(None),
) -> tuple[FloatArray, ClassNoise]:
    """The classes of the cells of a margin, or of some of them, a row each, and what is off in them."""
    classes = int(part["classes"])
    counts = values[2 * margin + 1].reshape(-1, classes)
    of_bin = np.broadcast_to(variances[2 * margin + 1], (counts.size,)).reshape(-1, classes)[some].mean(axis=1)
    of_all, counts = np.broadcast_to(variances[2 * margin], (len(counts),))[some], counts[some]
    return counts, ClassNoise(bins=classes, of_bin=of_bin, of_all=of_all, is_normal=not excess, grain=grain)


def _in_pieces(stated: EstimateLaw, lists: Sequence[_MeasuredList], margin: int) -> Estimated:
    """The estimates of one margin, some cells at a time: each takes several arrays for every sum."""
    part, sums, *_ = lists[0]
    cells = len(sums[2 * margin]) if "classes" in part else len(sums[margin])

    def piece(first: int) -> Estimated:
        arrays = [_arrays(each, margin, slice(first, first + _PIECE)) for each in lists]
        values, variance, excess = (np.concatenate(own) for own in zip(*arrays, strict=True))
        made = estimate(estimator_of(stated), Sums(stated, MeasuredArrays(values, variance, excess)))
        return within_limits(made, stated.limits, has_sampling=stated.has_sampling)

    starts = range(0, cells, _PIECE)
    if len(starts) == 1:
        return piece(0)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        pairs = [piece(first).ends(confidence, is_sampling) for first in starts]
        return np.concatenate([lower for lower, _ in pairs]), np.concatenate([upper for _, upper in pairs])

    whole: list[FloatArray] = []
    for first in starts:
        numbers = _numbers(piece(first))
        whole = whole or [np.empty(cells) for _ in numbers]
        for every, own in zip(whole, numbers, strict=True):
            every[first : first + _PIECE] = own
    return Estimated(values=whole[0], variance=whole[1], sampled=whole[2] if len(whole) > 2 else None, ends=ends)


def _numbers(made: Estimated) -> list[FloatArray]:
    """Of every cell: the number and its variances, without what they are made of."""
    shape = made.values.shape
    every = [made.values, made.variance, *(() if made.sampled is None else (made.sampled,))]
    return [np.array(np.broadcast_to(each, shape)) for each in every]


def _is_heavy(law: Law) -> bool:
    """Whether noise may have heavier tails than normal noise."""
    if isinstance(law, Additive):
        return law.noise.name != "discrete_gaussian"
    return isinstance(law, Joint) and law.parameters.get("family") not in ("discrete_gaussian", "gaussian")


def _arrays(each: _MeasuredList, margin: int, some: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Arrays of one list in some cells of a margin, their variances, and the excess of their noise."""
    part, values, variances, excess, _ = each
    if "classes" not in part:
        counts = values[margin][None, some]
        variance = np.broadcast_to(variances[margin], values[margin].shape)[None, some]
    else:
        classes, noise = _bins(part, values, variances, excess, 0.0, margin, some)
        counts = np.concatenate([classes.T, np.zeros((1, len(classes)))])
        own = np.broadcast_to(noise.own, classes.T.shape)
        variance = np.concatenate([own, (noise.of_bin - noise.own)[None, :]])
    return counts, variance, np.full((len(counts), 1), excess)


def class_forms(first: int, classes: int, groups: Mapping[str, Sequence[int]], unit: Fraction) -> dict[str, LinearForm]:
    """Sums of classes as forms of their arrays and of the one that carries what they share."""
    return {
        name: LinearForm({first + k: unit for k in places} | {first + classes: unit * len(places)})
        for name, places in groups.items()
    }


def without_structural(made: Estimated, zeros: Sequence[int]) -> Estimated:
    """The same with nothing in impossible cells."""
    if not zeros:
        return made

    def blank(array: FloatArray) -> FloatArray:
        whole = np.array(array, dtype=np.float64)
        whole[list(zeros)] = np.nan
        return whole

    sampled = None if made.sampled is None else blank(made.sampled)
    return replace(made, values=blank(made.values), variance=blank(made.variance), sampled=sampled)
