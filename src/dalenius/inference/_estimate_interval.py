"""Intervals of estimates from moments: for the finite population, or for the process behind it."""

import numpy as np

from dalenius.algebra.estimates import curves_of, deconvolved_ends, is_certified, is_resampled
from dalenius.algebra.tabulation import bounds, sampled_bounds
from dalenius.core.estimate import Kind
from dalenius.core.law import Joint
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference.drawn import condition, drawn_as, refuse_parameters, refuse_weights
from dalenius.inference.interval import simultaneous_confidence
from dalenius.inference.interval_table import IntervalTable

METHODS = {
    Kind.NOISE: "the published noise of every measured sum",
    Kind.NOISE_AND_SAMPLING: "noise and estimated sampling error, Student's quantiles",
}
RESAMPLED = {
    Kind.NOISE: "spread of the noisy replicates, Student's quantiles",
    Kind.NOISE_AND_SAMPLING: "calibrated to the spread of the noisy replicates",
}
BANDS = {
    Kind.NOISE: "a band that holds at all points of a curve at once, from the published noise",
    Kind.NOISE_AND_SAMPLING: "a band that holds at all points of a curve at once, from noise and sampling",
}
SELECTED = {
    Kind.NOISE: "released points between which noisy counts certify the quantile",
    Kind.NOISE_AND_SAMPLING: "released points between which noisy counts and a binomial rank certify the quantile",
}
DECONVOLUTION = "deconvolution"


def estimate_intervals(
    release: Release,
    table: Table,
    names: tuple[str, ...],
    kind: Kind,
    confidence: float,
    together: bool,
    method: str = "exact",
) -> IntervalTable:
    """Of every cell of a released table of estimates."""
    if set(names) not in (set(), {axis.name for axis in table.space.axes}):
        raise Unsupported(f"A {table.measure} does not add up; ask for the intervals of the whole table.")
    drawn, is_sampling = drawn_as(release), kind is Kind.NOISE_AND_SAMPLING
    if is_sampling:
        refuse_parameters(drawn)
        if release.about.weight:
            refuse_weights(drawn.draws)
        if table.sampled is None:
            raise Unsupported(
                "The error of sampling was not measured with this release; ask anew with error = "
                '"sampling" in [table].',
                measure=table.measure,
            )
    zeros = table.space.structural_indices
    cells = table.space.size - len(zeros)
    curves = curves_of(release.law, cells)
    level = simultaneous_confidence(confidence, cells if curves is None else curves) if together else confidence
    if together and is_certified(release.law):
        # Quantiles of one cell share their counts: errors are added, as nothing is known of their dependence.
        level = 1 - (1 - confidence) / max(cells, 1)
    methods = SELECTED if is_certified(release.law) else METHODS
    how = RESAMPLED[kind] if is_resampled(release.law) else methods[kind] if curves is None else BANDS[kind]
    if method == DECONVOLUTION:
        if not is_sampling or not isinstance(release.law, Joint) or not is_resampled(release.law):
            raise Unsupported(
                'Deconvolution is for parameters of estimates with error = "bootstrap": it takes the noise off their '
                "replicates."
            )
        lower, upper = deconvolved_ends(release.law, release.blocks, table.space.size, level)
        how = "law of the replicates without their noise; no side shorter than the calibrated one"
    else:
        lower, upper = (sampled_bounds if is_sampling else bounds)(release, table, level)
    return IntervalTable(
        axes=table.space.axes,
        values=table.values,
        lower=np.where(np.isnan(lower), 0.0, lower),
        upper=np.where(np.isnan(upper), 0.0, upper),
        confidence=confidence,
        kind=kind,
        method=how,
        is_simultaneous=together,
        notes=(condition(drawn),) if is_sampling else (),
        structural_zeros=frozenset(zeros),
    )
