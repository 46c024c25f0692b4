"""Intervals for every cell of a released table, of either kind, one by one or all together.

kind "population"   the exact count (or total) in the file: privacy noise only
kind "parameter"    the Poisson mean behind the count, or the process behind an estimate: noise and sampling
"""

from typing import Annotated

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.estimates import curves_of, deconvolved_ends, is_certified, is_estimate, is_resampled
from dalenius.algebra.listed import LISTS, is_list_of_estimates
from dalenius.algebra.tabulation import bounds, estimate_of, sampled_bounds
from dalenius.core.estimate import Kind
from dalenius.core.law import CASCADE, WEIGHTED_LIST, Additive, FloatArray, IntArray, Joint, Thinned, Withheld
from dalenius.core.release import ADDITIVE, Block, Release, Table
from dalenius.errors import Unsupported
from dalenius.inference import interval, simulation
from dalenius.inference.channel import CensoredShift, Kernelled, Repeated, Shifted, noise_parts
from dalenius.inference.drawn import condition, drawn_as, refuse_parameters, refuse_weights
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.joint import JointObserved
from dalenius.inference.noise import Noise, has_table
from dalenius.inference.observation import Observed, adjusted_note, find_table, refusal
from dalenius.inference.observe import Source, observe
from dalenius.inference.parameters import AxisName, Confidence, KindName
from dalenius.inference.question import Hint

_DRAWS = 4000
COMBINED = "from the exact variance of the noise"
_FINEST = 8
# For the noise alone, and for noise and sampling.
METHODS = "the published noise of every measured sum", "noise and estimated sampling error, Student's quantiles"
RESAMPLED = "spread of the noisy replicates, Student's quantiles", "calibrated to the spread of the noisy replicates"
_BAND = "a band that holds at all points of a curve at once, from"
BANDS = f"{_BAND} the published noise", f"{_BAND} noise and sampling"
_POINTS = "released points between which noisy"
SELECTED = tuple(f"{_POINTS} counts{rank} certify the quantile" for rank in ("", " and a binomial rank"))
WEIGHTED = tuple(f"{_POINTS} sums of weights{rank} certify the quantile" for rank in ("", " and a normal rank"))
DECONVOLUTION = "deconvolution"
Method = Annotated[
    str,
    Hint(
        help="exact, guarded or mid-p, or deconvolution of bootstrap replicates; for the parameter only.",
        choices=(*interval.SHARES, DECONVOLUTION),
        options=("--method",),
        key="variant",
    ),
]
SAMPLE = "binomial sampling with a known chance, and the published noise"


def intervals(
    source: Source,
    *axes: AxisName,
    kind: KindName = "population",
    method: Method = "exact",
    is_simultaneous: Annotated[
        bool,
        Hint(help="Hold for all cells together.", options=("--simultaneous/--no-simultaneous",), key="simultaneous"),
    ] = False,
    confidence: Confidence = 0.95,
    seed: int = 0,
) -> IntervalTable:
    """Intervals for every cell of a table or of a margin.

    The table over the named axes in their order, or the first table in the order in which its axes were asked for.
    """
    made = _intervals(source, axes, kind, confidence, method, is_simultaneous, seed)
    if axes or not isinstance(source, Release) or made.axes != source.table.space.axes:
        return made
    return made.in_order(source.asked_order(source.table))


def _intervals(
    source: Source, names: tuple[str, ...], kind: str, confidence: float, method: str, is_simultaneous: bool, seed: int
) -> IntervalTable:
    is_deconvolved = method == DECONVOLUTION
    interval.checked(confidence, "exact" if is_deconvolved else method)
    named_kind = interval.checked_kind(kind)
    if isinstance(source, Release) and isinstance(source.law, Thinned) and not is_deconvolved:
        return sample_intervals(source, names, named_kind, confidence, is_simultaneous)
    if isinstance(source, Release) and (is_estimate(source.law) or is_list_of_estimates(source.law)):
        table = find_table(source, names)
        if estimate_of(source, table) is not None:
            return estimate_intervals(source, table, names, named_kind, confidence, is_simultaneous, method)
    if is_deconvolved:
        raise Unsupported('Deconvolution is for estimates with error = "bootstrap".')
    if kind == "population" and isinstance(source, Release):
        totals = _totals(source, names, confidence, is_simultaneous)
        if totals is not None:
            return totals
    if kind == "parameter" and isinstance(source, Release) and find_table(source, names).measure == "total":
        raise _not_measured(find_table(source, names))
    observation = observe(source, *names, of_process=False)
    if kind == "parameter":
        refuse_parameters(observation)
    cells = int(observation.possible.sum())
    level = interval.simultaneous_confidence(confidence, cells) if is_simultaneous else confidence
    if isinstance(observation, JointObserved):
        low, high, how = _joint(observation, kind, confidence, is_simultaneous, seed)
    elif kind == "population":
        low, high, how = _population(observation, level)
    else:
        low, high, how = _parameter(observation, level, method)
    outside = ~observation.possible.reshape(-1)
    low[outside], high[outside] = 0.0, 0.0
    return IntervalTable(
        axes=observation.axes,
        values=np.asarray(observation.guess, dtype=np.float64).reshape(-1),
        lower=low,
        upper=high,
        confidence=confidence,
        kind=named_kind,
        method=how,
        is_simultaneous=is_simultaneous,
        notes=(*((condition(observation),) if kind == "parameter" else ()), *observation.notes),
        structural_zeros=frozenset(np.flatnonzero(outside).tolist()),
    )


def _not_measured(table: Table) -> Unsupported:
    return Unsupported(
        'The error of sampling was not measured with this release; ask anew with error = "sampling" in [table].',
        measure=table.measure,
    )


def _totals(release: Release, names: tuple[str, ...], confidence: float, together: bool) -> IntervalTable | None:
    """Population intervals of totals, which are signed and on a grid; None if the table holds counts."""
    table = find_table(release, names)
    if table.measure == "count":
        return None
    # A release with one additive law shows what was measured, whatever it is called; so does the answer of a cascade.
    is_measured = isinstance(release.law, Additive) or (
        isinstance(release.law, Joint) and release.law.structure == CASCADE and table is release.table
    )
    if table.measure not in (*ADDITIVE, "squared weights") and not is_measured:
        raise Unsupported(
            f"A released {table.measure} is a selected value, or carries noise that follows the data: how far it is off"
            " depends on the data and is not published, so that there is no valid interval for it.",
            measure=table.measure,
        )
    if isinstance(release.law, Withheld):
        raise refusal(release.law)
    lists = (LISTS, WEIGHTED_LIST)
    if isinstance(release.law, Joint) and (joint.is_combined(release.law) or release.law.structure in lists):
        return _combined(release, table, names, confidence, together)
    block = next((b for b in release.blocks if b.name == table.name), None)
    if not isinstance(block, Block) or not isinstance(block.law, Additive):
        raise Unsupported("Intervals of totals need a table that shows one measured block.")
    axes = block.space.axes
    order = [[axis.name for axis in axes].index(name) for name in names] or list(range(len(axes)))
    over = tuple(k for k in range(len(axes)) if k not in order)
    if over and table.measure not in ADDITIVE:
        raise Unsupported(f"A {table.measure} does not add up; ask for the intervals of the whole table.")
    possible = np.ones(block.space.size, dtype=np.int64)
    possible[list(block.space.structural_indices)] = 0
    # The axes that stay keep their order until they are transposed to the one that was asked for.
    places = np.argsort(np.argsort(order))
    flat = [
        np.transpose(part.reshape(block.space.shape).sum(axis=over), places).reshape(-1)
        for part in (block.values, possible)
    ]
    terms, step = flat[1], float(block.law.step)
    cells = int((terms > 0).sum())
    level = interval.simultaneous_confidence(confidence, cells) if together else confidence
    values = np.asarray(flat[0] * step, dtype=np.float64)
    reach = np.zeros(len(values))
    for width in np.unique(terms[terms > 0]):
        reach[terms == width] = _reach(block.law, int(width), level) * step
    return IntervalTable(
        axes=tuple(axes[k] for k in order),
        values=values,
        lower=values - reach,
        upper=values + reach,
        confidence=confidence,
        kind=Kind.NOISE,
        method=interval.NOISE_LAW,
        is_simultaneous=together,
        notes=adjusted_note(release),
        structural_zeros=frozenset(np.flatnonzero(terms == 0).tolist()),
    )


def _reach(law: Additive, terms: int, level: float) -> float:
    """Half-width for a sum of so many cells, in steps: by the law, or by its variance where that is too wide."""
    if terms == 1:
        return law.half_width(level)
    if has_table(law):
        return Noise.of(law).times(terms).half_width(level)
    return float(joint.reach([law], level) * np.sqrt(terms * law.noise.variance))


def _combined(
    release: Release, table: Table, names: tuple[str, ...], confidence: float, together: bool
) -> IntervalTable:
    if set(names) not in (set(), {axis.name for axis in table.space.axes}):
        raise Unsupported("Ask for the intervals of a table that the list shows, over all of its axes.")
    zeros = table.variance == 0
    level = interval.simultaneous_confidence(confidence, int((~zeros).sum())) if together else confidence
    reach = joint.reach([block.law for block in release.blocks], level) * table.std_error
    ends, notes = (table.values - reach, table.values + reach), adjusted_note(release)
    stated = {"confidence": confidence, "kind": Kind.NOISE, "method": COMBINED, "is_simultaneous": together}
    return IntervalTable.of(table, ends, notes=notes, **stated)


def _population(observation: Observed, level: float) -> tuple[FloatArray, FloatArray, str]:
    channel = observation.channel
    values = observation.released.reshape(-1, *observation.released.shape[len(observation.shape) :])
    parts = noise_parts(channel, len(values))
    if parts is not None:
        q = np.zeros(len(values), dtype=np.int64)
        for noise, here in parts:
            q[here] = noise.half_width(level)
        return np.maximum(values - q, 0).astype(float), np.maximum(values + q, 0).astype(float), interval.NOISE_LAW
    if isinstance(channel, Repeated):
        return _repeated(channel, values, level)
    if isinstance(channel, CensoredShift):
        half, is_shown = channel.noise.half_width(level), values >= channel.least
        low = np.where(is_shown, np.maximum(values - half, 0), 0).astype(float)
        return low, np.where(is_shown, values + half, channel.least - 1 + half).astype(float), interval.NOISE_LAW
    assert isinstance(channel, Kernelled)
    return (*channel.kernel.ends(values.astype(np.float64), level), "equal tails of the kernel")


def _weighted(channel: Repeated, values: IntArray) -> tuple[IntArray, int, Noise]:
    """The weighted sum of several releases: its values, the multiple of the count in it, and the law of its noise.

    Weights are small whole numbers close to the best ones (1 / variance), so that the law of the sum is exact.
    """
    noises = [c.noise for c in channel.channels if isinstance(c, Shifted)]
    if len(noises) < len(channel.channels):
        raise Unsupported("Intervals of combined releases need additive laws.")
    precision = np.array([1 / max(n.variance, 1e-12) for n in noises])
    weights = np.rint(_FINEST * precision / precision.max()).astype(np.int64)
    weights //= np.gcd.reduce(weights)
    law = Noise.none()
    for weight, noise in zip(weights.tolist(), noises, strict=True):
        law = law.plus(noise.dilated(weight)) if weight else law
    return np.asarray(values @ weights, dtype=np.int64), int(weights.sum()), law


def _repeated(channel: Repeated, values: IntArray, confidence: float) -> tuple[FloatArray, FloatArray, str]:
    """Several releases: the whole counts that the law of their weighted sum does not exclude."""
    summed, multiple, law = _weighted(channel, values)
    q = law.half_width(confidence)
    low, high = -((q - summed) // multiple), (summed + q) // multiple
    none = low > high
    low[none], high[none] = summed[none] // multiple, -(-summed[none] // multiple)
    how = f"{interval.NOISE_LAW} of the weighted mean of {len(channel.channels)} releases"
    return np.maximum(low, 0).astype(float), np.maximum(high, 0).astype(float), how


def _parameter(observation: Observed, level: float, method: str) -> tuple[FloatArray, FloatArray, str]:
    # Units of several rows make a count that many times a Poisson one, at the most.
    channel, x = observation.channel, observation.released.reshape(-1)
    multiple, how = observation.rows, f"Poisson parameter, {method}"
    parts = noise_parts(channel, len(x))
    if isinstance(channel, Repeated):
        x, multiple, noise = _weighted(channel, observation.values.reshape(-1, len(channel.channels)))
        parts = noise_parts(Shifted(noise), len(x))
        multiple *= observation.rows
        how += f", weighted mean of {len(channel.channels)} releases"
    if parts is None:
        raise Unsupported("Parameter intervals need an additive law.")
    low, high = np.zeros(len(x)), np.zeros(len(x))
    for noise, here in parts:
        distinct, which = np.unique(x[here], return_inverse=True)
        ends = interval.poisson_limits(distinct, noise, confidence=level, method=method, multiple=multiple)
        low[here], high[here] = (observation.rows * end[which] for end in ends)
    return low, high, how


def _joint(
    observation: JointObserved, kind: str, confidence: float, together: bool, seed: int
) -> tuple[FloatArray, FloatArray, str]:
    """Quantiles of the simulated, standardised noise (and sampling) of the shown cells."""
    rng = simulation.generator(seed)
    x = observation.values.reshape(-1)
    variance = np.diag(observation.covariance).copy()
    noise = observation.noise(_DRAWS, rng)
    if kind == "parameter":
        mean = np.maximum(x, 0.5)
        rows = observation.rows
        noise = noise + (rows * rng.poisson(mean / rows, size=noise.shape) - mean)
        variance = variance + rows * mean
    spread = np.sqrt(np.maximum(variance, 1e-12))
    scaled = np.abs(noise) / spread
    q = np.quantile(scaled.max(1), confidence) if together else np.quantile(scaled, confidence, axis=0)
    how = "simulated noise of the measured blocks" + (", Poisson parameter, approximate" if kind == "parameter" else "")
    return np.maximum(x - q * spread, 0.0), np.maximum(x + q * spread, 0.0), how


def _is_whole(table: Table, names: tuple[str, ...]) -> bool:
    return set(names) in (set(), {axis.name for axis in table.space.axes})


def sample_intervals(
    release: Release, names: tuple[str, ...], kind: Kind, confidence: float, together: bool
) -> IntervalTable:
    """Of every cell of a table of counts of all records, from a secret sample: for the finite population alone."""
    table = find_table(release, names)
    if kind is not Kind.NOISE or not _is_whole(table, names):
        raise Unsupported(
            "Counts of a secret sample have intervals for the population, cell by cell; ask for those of the whole "
            "table."
        )
    cells = table.space.size - len(table.space.structural_indices)
    level = interval.simultaneous_confidence(confidence, cells) if together else confidence
    stated = {"kind": kind, "method": SAMPLE, "is_simultaneous": together, "notes": adjusted_note(release)}
    return IntervalTable.of(table, bounds(release, table, level), confidence=confidence, **stated)


def estimate_intervals(
    release: Release,
    table: Table,
    names: tuple[str, ...],
    kind: Kind,
    confidence: float,
    together: bool,
    method: str = "exact",
) -> IntervalTable:
    if not _is_whole(table, names):
        raise Unsupported(f"A {table.measure} does not add up; ask for the intervals of the whole table.")
    drawn, is_sampling = drawn_as(release), kind is Kind.NOISE_AND_SAMPLING
    if is_sampling:
        refuse_parameters(drawn)
        if release.about.weight:
            refuse_weights(drawn.draws)
        if table.sampled is None:
            raise _not_measured(table)
    cells = table.space.size - len(table.space.structural_indices)
    curves = curves_of(release.law, cells)
    level = (
        interval.simultaneous_confidence(confidence, cells if curves is None else curves) if together else confidence
    )
    if together and is_certified(release.law):
        # Quantiles of one cell share their counts: errors are added, as nothing is known of their dependence.
        level = 1 - (1 - confidence) / max(cells, 1)
    is_weighted = isinstance(release.law, Joint) and "weight" in release.law.parameters
    certified = WEIGHTED if is_weighted else SELECTED
    methods = certified if is_certified(release.law) else METHODS
    how = (RESAMPLED if is_resampled(release.law) else methods if curves is None else BANDS)[is_sampling]
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
    notes = (condition(drawn),) if is_sampling else ()
    ends = (np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), 0.0, upper))
    stated = {"kind": kind, "method": how, "is_simultaneous": together, "notes": notes}
    return IntervalTable.of(table, ends, confidence=confidence, **stated)
