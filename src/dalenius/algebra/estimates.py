"""Means, proportions, ratios, variances and correlations from measured moments, with two errors that are never mixed.

noise               the error of the released number for the finite population: privacy noise alone
noise and sampling  its error for the process behind the population: privacy noise and sampling

A quotient A / B has Fieller's interval: every theta that the noise (and the sampling error) of A - theta B allows. The
sampling error of variances is treated on the log scale, that of correlations on Fisher's. That of covariances and
correlations comes from the squared influences of rows, which are measured at the released numbers. Weighted estimates
count the error of the design as if rows had been drawn one by one, with replacement: sums of squared weights, at least
what a design of independent inclusions has. Where a unit has up to k rows, the variance of sampling is k times that of
independent rows (`core/estimate.py`).

Requires
    Independent additive noise of public laws; units that are independent draws of the process, for the second error.
Evidence
    verify/estimates.py: coverage of both errors by simulation.
References
    Fieller (1954); Wilson (1927); Satterthwaite (1946); Fisher (1921).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.block_quantiles import BlockQuantiles
from dalenius.algebra.clipping import chosen
from dalenius.algebra.distributions import Distribution
from dalenius.algebra.families import FAMILIES, FamilySums, fitted
from dalenius.algebra.influence import Box
from dalenius.algebra.moments import Form, Sums, reach
from dalenius.algebra.quantiles import Quantiles
from dalenius.algebra.replicates import Replicates, deconvolved, replicates_of, sum_variance
from dalenius.algebra.windows import window_of
from dalenius.core.estimate import draws_of, rows_per_unit
from dalenius.core.law import FloatArray, Joint, Law
from dalenius.core.release import Block

STRUCTURE = "estimate"
BOOTSTRAP = "bootstrap"
CLIPPED_MEAN = "clipped mean"
CURVES = "distribution"
BLOCK_QUANTILES, QUANTILES = "quantiles", "certified quantiles"
Ends = Callable[[float, bool], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimated:
    """A number for each cell, the variance of its noise, that of noise and sampling, and intervals for both."""

    values: FloatArray
    variance: FloatArray
    sampled: FloatArray | None
    ends: Ends
    counts: Form | None = None
    # Blocks of sample and aggregate that gave no number, where they were counted.
    silent: Form | None = None


def is_estimate(law: Law) -> bool:
    """Whether shown values are estimates from moments."""
    return isinstance(law, Joint) and law.structure == STRUCTURE


def is_resampled(law: Law) -> bool:
    """Whether they come from bootstrap replicates."""
    return isinstance(law, Joint) and law.parameters.get("estimate") == BOOTSTRAP


def is_certified(law: Law) -> bool:
    """Whether they are quantiles between certified ends."""
    return isinstance(law, Joint) and law.parameters.get("estimate") == QUANTILES


def curves_of(law: Law, cells: int) -> int | None:
    """How many curves so many cells show, whose intervals hold at all points of each; None elsewhere."""
    is_curve = isinstance(law, Joint) and law.parameters.get("estimate") == CURVES
    return cells // len(law.parameters["points"]) if is_curve else None  # type: ignore[union-attr]


def estimated(law: Joint, blocks: Sequence[Block], cells: int) -> Estimated:
    """The estimate that a law describes, from the measured blocks."""
    name = str(law.parameters["estimate"])
    if name == QUANTILES:
        estimate = _flat(Quantiles(law.parameters, blocks))
    elif name == BLOCK_QUANTILES:
        estimate = _flat(BlockQuantiles(law.parameters, blocks))
    elif name == "winsorised mean":
        parameters = {**law.parameters, **window_of(law.parameters, blocks[0].values)}
        estimate = _mean(Parts(parameters, Sums.of(blocks[1:], cells)))
    elif name == CLIPPED_MEAN:
        parameters = {**law.parameters, **chosen(law.parameters, blocks[0].values.tolist())}
        estimate = _clipped_mean(ClippedParts(parameters, Sums.of(blocks[1:], cells)))
    elif name == BOOTSTRAP:
        estimate = _bootstrap(law.parameters, blocks, cells)
    elif name == "family":
        estimate = _family(law.parameters, blocks, cells)
    elif name == CURVES:
        # Intervals of distribution functions are bands: they hold at all points of a curve at once.
        estimate = _flat(Distribution(law.parameters, blocks, cells))
    else:
        estimate = ESTIMATES[name](Parts(law.parameters, Sums.of(blocks, cells)))
    low, high = (_end(end) for end in law.parameters["limits"])

    def cut(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = estimate.ends(confidence, is_sampling)
        # An end that is infinite stays so: the largest double is no margin of error.
        lower, upper = np.where(np.isnan(lower), low, lower), np.where(np.isnan(upper), high, upper)
        lower, upper = np.clip(lower, low, high), np.clip(upper, low, high)
        return lower, upper

    has_sampling = draws_of(law.parameters).has_sampling()
    return replace(estimate, ends=cut, sampled=estimate.sampled if has_sampling else None)


def _flat(made: Quantiles | BlockQuantiles | Distribution) -> Estimated:
    return Estimated(
        values=made.values.reshape(-1),
        variance=made.variance(with_sampling=False),
        sampled=made.variance(with_sampling=True) if made.has_sampling else None,
        ends=made.ends,
    )


def _bootstrap(parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int) -> Estimated:
    """Bagged totals, or quotients by a number of rows, with both errors from the spread of the replicates."""
    made, unit, values, counts = _replicated(parameters, blocks, cells)
    noise = unit**2 * (made.spread / made.count + made.ratio_noise)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        half = unit * made.half_widths(confidence, is_sampling=is_sampling)
        return values - half, values + half

    return Estimated(values=values, variance=noise, sampled=noise + unit**2 * made.sampling(), ends=ends, counts=counts)


def _family(parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int) -> Estimated:
    """Parameters of an exponential family, in the unit of the values."""
    family = FAMILIES[str(parameters["family"])]
    parts = Parts(parameters, Sums.of(blocks, cells // len(family.parameters)))
    made = fitted(
        family,
        FamilySums(
            count=parts.count(),
            total=parts.total(),
            squares=parts.power("squares") if family.has_squares else None,
            centre=parts.number("centre"),
            low=parts.number("low"),
            high=parts.number("high"),
            rows=parts.rows,
        ),
    )
    unit = np.tile([parts.number("scale") ** power for power in family.powers], len(made.values))

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = made.ends(confidence, is_sampling)
        return unit * lower, unit * upper

    return Estimated(
        values=unit * made.values.reshape(-1),
        variance=unit**2 * made.variance(with_sampling=False).reshape(-1),
        sampled=unit**2 * made.variance(with_sampling=True).reshape(-1),
        ends=ends,
    )


def deconvolved_ends(
    law: Joint, blocks: Sequence[Block], cells: int, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals with sampling from the law of the replicates without their noise, for estimates with bootstrap errors.

    Few replicates tell the ends of a law badly, so that no side is shorter than that of the calibrated interval.
    """
    made, unit, values, _ = _replicated(law.parameters, blocks, cells)
    sides = np.array([deconvolved(made, cell, confidence) for cell in range(cells)])
    sides = np.maximum(sides, made.half_widths(confidence, is_sampling=True)[:, None])
    low, high = (_end(end) for end in law.parameters["limits"])
    lower, upper = values - unit * sides[:, 0], values + unit * sides[:, 1]
    return np.clip(np.nan_to_num(lower, nan=low), low, high), np.clip(np.nan_to_num(upper, nan=high), low, high)


def _replicated(
    parameters: Mapping[str, Any], blocks: Sequence[Block], cells: int
) -> tuple[Replicates, FloatArray, FloatArray, Form | None]:
    """Replicates in units in which rows add, the size of such a unit, bagged values, measured numbers of rows."""
    measured = blocks[0].values.astype(np.float64).reshape(cells, -1)
    many = int(parameters["replicates"])
    sums = dict(zip(parameters.get("sums", ()), measured[:, many:].T, strict=True))
    counts = Sums.of(blocks[1:], cells).form(0) if len(blocks) > 1 else None
    if "count" in sums:
        counts = Sums.normal(sums["count"], sum_variance(parameters, "count")).form(0)
    made = replicates_of(
        parameters,
        measured[:, :many],
        None if counts is None else counts.values,
        0.0 if counts is None else float(counts.variance[0]),
        sums.get("squares"),
    )
    centre, factor, scale = (float(Fraction(str(parameters[key]))) for key in ("centre", "factor", "scale"))
    if parameters["is_quotient"]:
        assert made.records is not None
        n = np.where(made.records >= 1, made.records, np.nan)
        return made, scale / factor / n, scale * (centre + made.bagged / factor / n), counts
    moved = 0.0 if made.records is None else made.records * centre
    return made, np.full(cells, scale / factor), scale * (moved + made.bagged / factor), counts


def _end(text: object) -> float:
    return float(str(text)) if str(text) in ("inf", "-inf") else float(Fraction(str(text)))


class Parts:
    """The moments that were measured, by name, with their centres and shifts taken back; in steps."""

    def __init__(self, parameters: Mapping[str, Any], measured: Sums) -> None:
        self.parameters, self.measured = parameters, measured
        self.places = {name: place for place, name in enumerate(parameters["arrays"])}

    def number(self, name: str, default: object = 0) -> float:
        return float(Fraction(str(self.parameters.get(name, default))))

    def has(self, name: str) -> bool:
        return name in self.places

    @property
    def rows(self) -> int:
        """By how much the sampling variance of independent rows is multiplied."""
        return rows_per_unit(self.parameters)

    def raw(self, name: str) -> Form:
        form, factor = self.measured.form(self.places[name]), self.number(f"{name} factor", 1)
        return form if factor == 1 else form.times(1 / factor)

    def count(self) -> Form:
        """Number of records: public, or what the two mirrored totals say together."""
        if self.parameters.get("size") is not None:
            return self.measured.constant(self.number("size"))
        if self.has("count"):
            return self.raw("count")
        width = self.number("high") - self.number("low")
        return self.raw("above").plus(self.raw("below")).times(1 / width)

    def total(self) -> Form:
        """Of x about its centre."""
        reach_down = self.number("centre") - self.number("low")
        return self.raw("above").plus(self.count(), -reach_down)

    def power(self, name: str) -> Form:
        """A sum of powers or products about the centres."""
        return self.raw(name).plus(self.count(), self.number(f"{name} shift")).times(self.number(f"{name} unit", 1))


def _quotient(
    parts: Parts,
    above: Form,
    below: Form,
    spread: tuple[Form, Form, Form] | None,
    *,
    offset: float = 0.0,
    least: float = 1.0,
    is_binomial: bool = False,
    records: FloatArray | float = np.inf,
) -> Estimated:
    """offset + scale * above / below; `spread` are the sums of squares and products of what rows add to the two.

    `records` is how many equally weighted rows would tell as much of their spread; `below` itself, where it counts
    rows.
    """
    scale = parts.number("scale", 1)
    a, b = above.values, below.values
    is_known = b >= least
    theta = np.where(is_known, a / np.where(is_known, b, 1.0), np.nan)
    residual = above.plus(below, -np.nan_to_num(theta))
    noise = residual.variance
    sampling: FloatArray = np.zeros(1)
    uncertainty: FloatArray = np.zeros(1)
    if spread is not None:
        at = np.nan_to_num(theta)
        squares = spread[0].plus(spread[1], -2 * at).plus(spread[2], at**2)
        sampling = np.maximum(squares.values, 0.0) * b / np.maximum(b - 1, 1) if least == 1 else squares.values
        sampling, uncertainty = parts.rows * np.maximum(sampling, 0.0), parts.rows**2 * squares.variance
    quadratic = (above.variance, above.covariance(below), below.variance)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        more = sampling if is_sampling else np.zeros(1)
        q = reach(
            confidence,
            np.maximum(noise + more, 1e-300),
            fourth=residual.fourth,
            uncertainty=uncertainty if is_sampling and not is_binomial else 0.0,
            sampling=more,
            records=(b if least == 1 else records) / parts.rows,
            is_student=bool(parts.parameters.get("student")),
        )
        exact = None if is_sampling else residual.exact_half(confidence)
        if exact is not None:
            q = exact / np.sqrt(np.maximum(noise, 1e-300))
        c0, c1, c2 = quadratic
        if is_sampling and is_binomial:
            # The variance of a binomial count at each theta in question, as in Wilson's interval.
            c1, c2 = c1 - parts.rows * b / 2, c2 - parts.rows * b
        elif is_sampling:
            c0 = c0 + more
        lower, upper = _roots(b**2 - q**2 * c2, a * b - q**2 * c1, a**2 - q**2 * c0)
        is_bounded = is_known & (b**2 > q**2 * np.maximum(c2, 0.0))
        low, high = (np.where(is_bounded, offset + scale * end, np.nan) for end in (lower, upper))
        return low, high

    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(is_known, scale**2 * noise / b**2, np.nan)
        sampled = np.where(is_known, scale**2 * (noise + sampling) / b**2, np.nan)
    return Estimated(
        values=offset + scale * theta,
        variance=variance,
        sampled=None if spread is None else sampled,
        ends=ends,
        counts=below if least == 1 else None,
    )


def _roots(square: FloatArray, middle: FloatArray, last: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both roots of square t^2 - 2 middle t + last, the smaller first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(middle**2 - square * last, 0.0))
        return (middle - root) / square, (middle + root) / square


def _mean(parts: Parts) -> Estimated:
    total, count = parts.total(), parts.count()
    spread = (parts.power("squares"), total, count) if parts.has("squares") else None
    offset = parts.number("origin") + parts.number("centre") * parts.number("scale", 1)
    made = _quotient(parts, total, count, spread, offset=offset)
    return _beside_silent(parts, made) if parts.has("silent") else made


def _beside_silent(parts: Parts, made: Estimated) -> Estimated:
    """The mean of a public number of blocks, of which some gave no number and report the middle of the range.

    With c of them the mean of what all blocks would have said lies at most c times half the range, divided by the
    number of blocks, from that of what they report. So each end is that of the sum plus or minus half the range times
    c, both with their noise; it is never nearer than the end of the sum alone. In the worst case these blocks lie at
    one end of the range, and differ from the others by that.
    """
    total, silent, size = parts.total(), parts.raw("silent"), parts.number("size")
    half = max(parts.number("high") - parts.number("centre"), parts.number("centre") - parts.number("low"))
    unit, far = parts.number("scale", 1) / size, total.plus(silent, half)
    absent = half * np.maximum(silent.values, 0.0)
    share = np.clip(silent.values / size, 0.0, 1.0)
    spread, uncertainty = np.zeros(1), np.zeros(1)
    if made.sampled is not None:
        own = np.sqrt(np.maximum(made.sampled - made.variance, 0.0)) / unit
        spread = (own + half * np.sqrt(parts.rows * size * share * (1 - share))) ** 2
        at = total.values / size
        uncertainty = parts.rows**2 * parts.power("squares").plus(total, -2 * at).variance

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        more = spread if is_sampling else np.zeros(1)
        both = np.maximum(far.variance + more, 1e-300)
        q = reach(
            confidence,
            both,
            fourth=far.fourth,
            uncertainty=uncertainty if is_sampling else 0.0,
            sampling=more,
            records=size / parts.rows,
            is_student=bool(parts.parameters.get("student")),
        )
        reached = unit * (q * np.sqrt(both) + half * silent.values)
        lower, upper = made.ends(confidence, is_sampling)
        return np.minimum(lower, made.values - reached), np.maximum(upper, made.values + reached)

    noise = unit**2 * (far.variance + absent**2)
    return replace(
        made,
        variance=noise,
        sampled=None if made.sampled is None else noise + unit**2 * spread,
        ends=ends,
        silent=silent,
    )


class ClippedParts(Parts):
    """Sums between chosen bounds, each divided by the factor with which it was measured."""

    def raw(self, name: str) -> Form:
        return super().raw(name).times(1 / self.parameters["factors"][name])


# Of the error probability, the part that the mean between the bounds has; the rest is for numbers of rows.
_OF_MEAN = 0.8


def _clipped_mean(parts: Parts) -> Estimated:
    """The mean between learned bounds; where rows outside were counted, intervals allow for the declared bounds.

    A row below the lower bound would lower the mean by at most the distance of the two lower bounds, and so above. An
    eighth of the error probability that the mean leaves is for each of the four errors of these numbers of rows, and
    half for their total.
    """
    made = _mean(parts)
    if not parts.has("under"):
        return made
    scale, count = parts.number("scale"), parts.count()
    room = [parts.number("low") - parts.number("floor"), parts.number("ceiling") - parts.number("high")]

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        error = 1 - confidence
        inner = made.ends(1 - _OF_MEAN * error, is_sampling)
        tail = (1 - _OF_MEAN) * error / 8
        z = NormalDist().inv_cdf(1 - tail)
        fewest = np.maximum(count.values - NormalDist().inv_cdf(1 - 4 * tail) * np.sqrt(count.variance), 1.0)
        shares = []
        for name in ("under", "over"):
            cut = parts.raw(name)
            most = np.maximum(cut.values + np.asarray(cut.exact_half(1 - 2 * tail)), 0.0)
            if is_sampling:
                # Rows come in numbers of up to so many at once: at most that multiple of a Poisson number.
                rows = parts.rows
                most = most + rows * z**2 / 2 + z * np.sqrt(rows * most + (rows * z) ** 2 / 4)
            shares.append(np.clip(most / fewest, 0.0, 1.0))
        return inner[0] - scale * room[0] * shares[0], inner[1] + scale * room[1] * shares[1]

    return replace(made, ends=ends)


def _proportion(parts: Parts) -> Estimated:
    inside = parts.raw("inside")
    others = [parts.raw(name) for name in ("outside", "beyond") if parts.has(name)]
    count = parts.count() if not others else inside
    for other in others:
        count = count.plus(other)
    return _quotient(parts, inside, count, (inside, inside, count), is_binomial=True)


def _ratio(parts: Parts) -> Estimated:
    """Of totals or of weighted totals, whose squares and products are measured in units of their own."""
    spread = None
    if parts.has("squares"):
        first, second, third = (
            parts.raw(name).times(parts.number(f"{name} unit", 1))
            for name in ("squares", "products", "squares of the other")
        )
        spread = (first, second, third)
    above, below = parts.raw("total"), parts.raw("total of the other")
    return _quotient(parts, above, below, spread, least=parts.number("least", 1))


def _weighted_mean(parts: Parts) -> Estimated:
    """Hajek's mean from mirrored weighted totals; squared weights come in the three parts of (1 - t + t)^2 = 1."""
    above, width = parts.raw("above"), parts.number("high") - parts.number("low")
    below = above.plus(parts.raw("below")).times(1 / width)
    offset, step = parts.number("low") * parts.number("scale"), parts.number("weight step")
    spread, records = None, np.full(1, np.inf)
    if parts.has("lower squares"):
        unit = parts.number("lower squares unit")
        lower, both, upper = (
            parts.raw(name).times(unit) for name in ("lower squares", "middle squares", "upper squares")
        )
        squares = lower.plus(both).plus(upper)
        spread = (upper.times(width**2), both.times(0.5).plus(upper).times(width), squares)
        records = np.maximum(below.values, 1.0) ** 2 / np.maximum(squares.values, 1.0)
    estimate = _quotient(parts, above, below, spread, offset=offset, least=parts.number("least"), records=records)
    return replace(estimate, counts=below.times(step))


def _weighted_total(parts: Parts) -> Estimated:
    """The expansion estimator, whose design variance is at most the sum of squares of what rows add to it."""
    total, scale = parts.raw("total"), parts.number("scale")
    noise, sampling, uncertainty = total.variance, np.zeros(1), np.zeros(1)
    if parts.has("squares"):
        squares = parts.raw("squares").times(parts.number("squares unit"))
        sampling, uncertainty = parts.rows * np.maximum(squares.values, 0.0), parts.rows**2 * squares.variance

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        if not is_sampling:
            half = np.asarray(total.exact_half(confidence))
        else:
            both = noise + sampling
            half = reach(confidence, both, fourth=total.fourth, uncertainty=uncertainty) * np.sqrt(both)
        return scale * (total.values - half), scale * (total.values + half)

    return Estimated(
        values=scale * total.values,
        variance=scale**2 * noise + 0 * total.values,
        sampled=scale**2 * (noise + sampling) if parts.has("squares") else None,
        ends=ends,
    )


def _variance(parts: Parts) -> Estimated:
    """Sum of squared deviations over n - 1, without the bias that the noise of the total brings."""
    total, squares, count = parts.total(), parts.power("squares"), parts.count()
    is_known = count.values >= 2
    n = np.where(is_known, count.values, np.nan)
    mean, second = total.values / n, squares.values / n
    wider, scale = n / (n - 1), parts.number("scale", 1) ** 2
    value = np.maximum(wider * (second - mean**2 + total.variance / n**2), 0.0)
    step = wider / n
    gradient = squares.times(step).plus(total, -2 * mean * step).plus(count, (2 * mean**2 - second) * step)
    sampled, uncertainty = None, np.zeros(1)
    if parts.has("fourths"):
        third, fourth = parts.power("cubes"), parts.power("fourths")
        form = fourth.times(1 / n).plus(third, -4 * mean / n)
        central = form.values + 6 * mean**2 * second - 3 * mean**4
        sampled = parts.rows * np.maximum(central - value**2, 0.0) / n
        uncertainty = parts.rows**2 * form.variance / n**2
    return _smooth(value, gradient, sampled, uncertainty, scale=scale, shape=_logarithmic)


def _standard_deviation(parts: Parts) -> Estimated:
    square = _variance(parts)
    value = np.sqrt(square.values)
    # Near zero the root is steeper than it is over the reach of the noise.
    slope = 1 / (4 * np.maximum(np.maximum(square.values, np.sqrt(square.variance)), 1e-300))

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        lower, upper = square.ends(confidence, is_sampling)
        return np.sqrt(np.maximum(lower, 0.0)), np.sqrt(np.maximum(upper, 0.0))

    sampled = None if square.sampled is None else square.sampled * slope
    return Estimated(values=value, variance=square.variance * slope, sampled=sampled, ends=ends)


def _co_moments(parts: Parts) -> tuple[FloatArray, list[FloatArray], list[Form]]:
    """n, and the variance of x, that of y and their covariance, each with the form of its noise; in steps."""
    count, x = parts.count(), parts.total()
    y = parts.raw("total of the other")
    n = np.where(count.values >= 2, count.values, np.nan)
    mx, my = x.values / n, y.values / n
    values, gradients = [], []
    for name, first, second, mean, other in (
        ("squares", x, x, mx, mx),
        ("squares of the other", y, y, my, my),
        ("products", x, y, mx, my),
    ):
        raw = parts.power(name)
        values.append(raw.values / n - mean * other + first.covariance(second) / n**2)
        gradients.append(
            raw.times(1 / n)
            .plus(first, -other / n)
            .plus(second, -mean / n)
            .plus(count, (2 * mean * other - raw.values / n) / n)
        )
    return n, values, gradients


def _influence(parts: Parts) -> FloatArray:
    """The numbers by which a row's influence on each cell's covariance or correlation is known."""
    n, (xx, yy, xy), _ = _co_moments(parts)
    none = np.zeros_like(xy)
    centres = parts.number("centre"), parts.number("centre of the other")
    totals = parts.total(), parts.raw("total of the other")
    x, y = (centre + total.values / n for centre, total in zip(centres, totals, strict=True))
    box = Box(
        x=(parts.number("low"), parts.number("high")),
        y=(parts.number("low of the other"), parts.number("high of the other")),
    )
    if parts.parameters["estimate"] == "covariance":
        return box.points((x, y), np.ones_like(xy), (none, none), xy)
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where((xx > 0) & (yy > 0), xx * yy, np.nan))
        return box.points((x, y), 1 / root, (xy / root / (2 * xx), xy / root / (2 * yy)), none)


def influence(law: Joint, blocks: Sequence[Block], cells: int) -> FloatArray:
    """The same from what was measured before influences are; a row of numbers for each cell."""
    return _influence(Parts(law.parameters, Sums.of(blocks, cells)))


def _spread(parts: Parts, n: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """Variance of sampling in squared steps, and variance of the noise in it; None where it was not measured."""
    if not parts.has("influence"):
        return None, np.zeros(1)
    largest = _influence(parts)[:, -1]
    sums = parts.raw("influence").times(parts.rows * largest**2 / parts.number("influence grid") / n**2)
    return np.maximum(sums.values, 0.0), sums.variance


def _covariance(parts: Parts) -> Estimated:
    n, (_, _, xy), (_, _, gradient) = _co_moments(parts)
    sampled, uncertainty = _spread(parts, n)
    wider = n / (n - 1)
    return _smooth(wider * xy, gradient, sampled, uncertainty, scale=parts.number("scale", 1), shape=_plain)


# A correlation divides by two variances: where the noise of one is more than this part of it, nothing is said.
GUARD = 3


def _correlation(parts: Parts) -> Estimated:
    """Covariance over the root of both variances: Fieller's interval; distances of sampling added in squares."""
    n, (xx, yy, xy), (of_x, of_y, product) = _co_moments(parts)
    is_known = (xx > 0) & (yy > 0)
    xx, yy = np.where(is_known, xx, np.nan), np.where(is_known, yy, np.nan)
    root = np.sqrt(xx * yy)
    value = np.clip(xy / root, -1.0, 1.0)
    spread = of_x.times(np.sqrt(yy / xx) / 2).plus(of_y, np.sqrt(xx / yy) / 2)
    residual = product.plus(spread, -value)
    is_sure = (xx > GUARD * np.sqrt(of_x.variance)) & (yy > GUARD * np.sqrt(of_y.variance))
    noise = residual.variance / root**2
    sampled, uncertainty = _spread(parts, n)

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        q = reach(confidence, np.maximum(residual.variance, 1e-300), fourth=residual.fourth)
        square = root**2 - q**2 * spread.variance
        lower, upper = _roots(
            square, value * root**2 - q**2 * product.covariance(spread), (value * root) ** 2 - q**2 * product.variance
        )
        is_bounded = is_sure & (square > 0)
        lower = np.where(is_bounded, np.maximum(lower, -1.0), -1.0)
        upper = np.where(is_bounded, np.minimum(upper, 1.0), 1.0)
        if not is_sampling or sampled is None:
            return lower, upper
        both = np.maximum(noise + sampled, 1e-300)
        wide = reach(confidence, both, fourth=residual.fourth / root**4, uncertainty=uncertainty)
        half = np.sqrt(np.maximum(wide**2 * both - q**2 * noise, 0.0))
        below, above = _sides(value, lower, upper, half)
        return value - np.hypot(value - lower, below), value + np.hypot(upper - value, above)

    return Estimated(values=value, variance=noise, sampled=None if sampled is None else noise + sampled, ends=ends)


def _sides(value: FloatArray, lower: FloatArray, upper: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances of sampling to both sides: the larger of the plain one and Fisher's, at the value and at its ends."""
    with np.errstate(divide="ignore"):
        reached = half / (1 - value**2)
    below = np.maximum(value - _fisher(value, -reached), lower - _fisher(lower, -reached))
    above = np.maximum(_fisher(value, reached) - value, _fisher(upper, reached) - upper)
    return np.fmax(below, half), np.fmax(above, half)


def _fisher(value: FloatArray, move: FloatArray) -> FloatArray:
    """A correlation moved on the scale of the inverse hyperbolic tangent, on which one is infinitely far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.tanh(np.arctanh(value) + move))


Shape = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def _smooth(
    value: FloatArray,
    gradient: Form,
    sampled: FloatArray | None,
    uncertainty: FloatArray,
    *,
    scale: float,
    shape: Shape,
) -> Estimated:
    """A smooth function of moments: the noise by its gradient, and the error of sampling on the scale that suits it.

    Noise is added to sums, so that its distances are plain ones; `shape` gives those of sampling to both sides. Both
    are put together in squares.
    """
    noise = gradient.variance

    def ends(confidence: float, is_sampling: bool) -> tuple[FloatArray, FloatArray]:
        own = np.maximum(noise, 1e-300)
        half = reach(confidence, own, fourth=gradient.fourth) * np.sqrt(own)
        if not is_sampling or sampled is None:
            return scale * (value - half), scale * (value + half)
        total = np.maximum(noise + sampled, 1e-300)
        q = reach(confidence, total, fourth=gradient.fourth, uncertainty=uncertainty)
        below, above = shape(value, np.sqrt(np.maximum(q**2 * total - half**2, 0.0)))
        return scale * (value - np.hypot(half, below)), scale * (value + np.hypot(half, above))

    return Estimated(
        values=scale * value,
        variance=scale**2 * noise,
        sampled=None if sampled is None else scale**2 * (noise + sampled),
        ends=ends,
    )


def _plain(value: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    return half, half


def _logarithmic(value: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    """On the log scale where the value is well above zero; plain distances elsewhere."""
    is_large = value > half
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.exp(np.where(is_large, half / value, 0.0))
    return np.where(is_large, value - value / factor, half), np.where(is_large, value * factor - value, half)


ESTIMATES: dict[str, Callable[[Parts], Estimated]] = {
    "mean": _mean,
    "proportion": _proportion,
    "ratio": _ratio,
    "variance": _variance,
    "standard deviation": _standard_deviation,
    "covariance": _covariance,
    "correlation": _correlation,
    "weighted mean": _weighted_mean,
    "weighted ratio": _ratio,
    "weighted total": _weighted_total,
}
