"""The mean of blocks of which some gave no number."""

from dataclasses import replace

import numpy as np

from dalenius.algebra.intervals import Estimated, reach
from dalenius.algebra.sums import Sums
from dalenius.core.law import FloatArray


def beside_silent(sums: Sums, made: Estimated) -> Estimated:
    """The mean of a public number of blocks, of which some gave no number and report the middle of the range.

    How far it may be off, and why no end is nearer than that of the sum alone:
    docs/reference/methods/sample_and_aggregate.md.
    """
    law, total, silent = sums.law, sums.forms["x"], sums.measured.combined(sums.law.products["silent"])
    (low, high), centre, size = law.ends["x"], sums.centre("x"), float(law.sums["1"].constant)
    half = max(high - centre, centre - low)
    unit, far = float(law.scale) / size, total.plus(silent, half)
    absent = half * np.maximum(silent.values, 0.0)
    share = np.clip(silent.values / size, 0.0, 1.0)
    spread, uncertainty = np.zeros(1), np.zeros(1)
    if made.sampled is not None:
        own = np.sqrt(np.maximum(made.sampled - made.variance, 0.0)) / unit
        spread = (own + half * np.sqrt(sums.rows * size * share * (1 - share))) ** 2
        at = total.values / size
        uncertainty = sums.rows**2 * sums.measured.combined(law.products["x x"]).plus(total, -2 * at).variance

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        more = spread if is_sampling else np.zeros(1)
        both = np.maximum(far.variance + more, 1e-300)
        q = reach(
            confidence,
            far.variance,
            fourth=far.fourth,
            sampling=more,
            uncertainty=uncertainty if is_sampling else 0.0,
            records=size / sums.rows,
            is_student=bool(law.more.get("student")),
        )
        reached = unit * (q * np.sqrt(both) + half * silent.values)
        lower, upper = made.ends(confidence, is_sampling)
        return np.minimum(lower, made.values - reached), np.maximum(upper, made.values + reached)

    noise = unit**2 * (far.variance + absent**2)
    return replace(
        made,
        variance=noise,
        sampled=None if made.sampled is None else noise + unit**2 * spread,
        spread=None,
        ends=ends,
        silent=silent,
    )
