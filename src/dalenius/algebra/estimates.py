"""What the law of an estimate makes of the measured blocks: numbers, both errors, and intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.algebra.block_quantiles import BlockQuantiles
from dalenius.algebra.clipping import beside_clipped, with_learned_bounds
from dalenius.algebra.distributions import Distribution
from dalenius.algebra.estimate_law import STRUCTURE, EstimateLaw
from dalenius.algebra.estimator import Estimator
from dalenius.algebra.families import fitted_family
from dalenius.algebra.intervals import Estimated, estimate
from dalenius.algebra.quantiles import Quantiles
from dalenius.algebra.replicates import deconvolved, influences_of, replicated, resampled, sides_of
from dalenius.algebra.silent import beside_silent
from dalenius.algebra.sums import MeasuredArrays, Sums
from dalenius.algebra.windows import with_window
from dalenius.core import registry
from dalenius.core.estimate import draws_of
from dalenius.core.law import FloatArray, Joint, Law
from dalenius.core.release import Block
from dalenius.errors import DocumentError

BOOTSTRAP = "bootstrap"
CURVES = "distribution"
BLOCK_QUANTILES, QUANTILES = "quantiles", "certified quantiles"
FAMILY, SILENT, TAILS, REPLICATES = "family", "silent", "tails", "replicates"
_FIRST: dict[str, Callable[[EstimateLaw, Block], EstimateLaw]] = {
    "window": with_window,
    "learned_bounds": with_learned_bounds,
}
"""What the first released block decides of the law of those after it."""


def is_estimate(law: Law) -> bool:
    """Whether shown values are estimates from measured sums or selections."""
    return isinstance(law, Joint) and law.structure == STRUCTURE


def is_resampled(law: Law) -> bool:
    return isinstance(law, Joint) and law.parameters.get("estimate") == BOOTSTRAP


def is_certified(law: Law) -> bool:
    return isinstance(law, Joint) and law.parameters.get("estimate") == QUANTILES


def curves_of(law: Law, cells: int) -> int | None:
    """How many curves so many cells show, whose intervals hold at all points of each; None elsewhere."""
    stated = law.parameters if isinstance(law, Joint) else {}
    stated = stated["estimate"] if isinstance(stated.get("estimate"), Mapping) else stated
    return cells // len(stated["points"]) if stated.get("estimate") == CURVES else None


def estimated(law: Joint, blocks: Sequence[Block], cells: int) -> Estimated:
    """The estimate that a law describes, from the measured blocks."""
    name = law.parameters.get("estimate")
    if name is None:
        stated = EstimateLaw.of(law)
        return within_limits(_from_sums(stated, blocks, cells), stated.limits, has_sampling=stated.has_sampling)
    if name == QUANTILES:
        made = flat(Quantiles(law.parameters, blocks))
    elif name == BLOCK_QUANTILES:
        made = flat(BlockQuantiles(law.parameters, blocks))
    elif name == BOOTSTRAP:
        made = resampled(law.parameters, blocks, cells)
    else:
        # Intervals of distribution functions are bands: they hold at all points of a curve at once.
        made = flat(Distribution.of_blocks(law.parameters, blocks, cells))
    has_sampling = draws_of(law.parameters).has_sampling(is_weighted="weight" in law.parameters)
    return within_limits(made, law.parameters["limits"], has_sampling=has_sampling)


def within_limits(made: Estimated, limits: Sequence[str], *, has_sampling: bool) -> Estimated:
    """The same with intervals cut to what is possible; all of it where nothing is known."""
    low, high = (_end(end) for end in limits)

    def cut(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = made.ends(confidence, is_sampling)
        # An end that is infinite stays so: the largest double is no margin of error.
        lower, upper = np.where(np.isnan(lower), low, lower), np.where(np.isnan(upper), high, upper)
        return np.clip(lower, low, high), np.clip(upper, low, high)

    return replace(made, ends=cut, sampled=made.sampled if has_sampling else None)


def _from_sums(law: EstimateLaw, blocks: Sequence[Block], cells: int) -> Estimated:
    for name in law.more.keys() & _FIRST.keys():
        law, blocks = _FIRST[name](law, blocks[0]), blocks[1:]
    if FAMILY in law.more:
        return fitted_family(law, blocks, cells)
    replicates, blocks = (blocks[-1], blocks[:-1]) if REPLICATES in law.more else (None, blocks)
    sums = sums_of(law, blocks, cells)
    if replicates is not None:
        sums.replicates = replace(influences_of(replicates, cells), rows=law.rows_per_unit)
    made = estimate(estimator_of(law), sums, is_student=bool(law.more.get("student")))
    if SILENT in law.more:
        return beside_silent(sums, made)
    return beside_clipped(sums, made) if TAILS in law.more else made


def sums_of(law: EstimateLaw, blocks: Sequence[Block], cells: int) -> Sums:
    return Sums(law, MeasuredArrays.of(blocks, cells))


def estimator_of(law: EstimateLaw) -> Estimator:
    """The estimator that a law names. Raises `DocumentError` for a law of another version of it."""
    estimator: Estimator = registry.get("estimators", law.estimator)
    if estimator.version != law.version:
        raise DocumentError(
            f"This release was made by version {law.version} of the estimator {law.estimator!r}; installed is version "
            f"{estimator.version}.",
            received=law.version,
        )
    return estimator


def deconvolved_ends(
    law: Joint, blocks: Sequence[Block], cells: int, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals with sampling from the law of the replicates without their noise, for estimates with bootstrap errors.

    Few replicates tell the ends of a law badly, so that no side is shorter than that of the calibrated interval.
    """
    made, unit, values, _ = replicated(law.parameters, blocks, cells)
    sides = np.array([deconvolved(made, cell, confidence) for cell in range(cells)])
    sides = np.maximum(sides, np.stack(sides_of(law.parameters, made, confidence, is_sampling=True), axis=1))
    low, high = (_end(end) for end in law.parameters["limits"])
    lower, upper = values - unit * sides[:, 0], values + unit * sides[:, 1]
    return np.clip(np.nan_to_num(lower, nan=low), low, high), np.clip(np.nan_to_num(upper, nan=high), low, high)


def flat(made: Quantiles | BlockQuantiles | Distribution) -> Estimated:
    return Estimated(
        values=made.values.reshape(-1),
        variance=made.variance(with_sampling=False),
        sampled=made.variance(with_sampling=True) if made.has_sampling else None,
        ends=made.ends,
    )


def _end(text: object) -> float:
    return float(str(text)) if str(text) in ("inf", "-inf") else float(Fraction(str(text)))
