"""The parametric bootstrap: intervals from a model fitted to a release and its noise (Ferrando et al. 2022).

What was measured is a function of rows plus noise of a published law. The model is fitted to the release alone; new
measurements are drawn from the fitted model and the same noise, and the estimate is computed from each as it was from
the release. How far these estimates lie from the fitted value is how far the released one may lie from the truth: both
errors in one interval, free of charge.

    released                            model
    counts                              Poisson, one mean for each cell
    mean, variance, standard deviation  normal
    covariance, correlation             two normal variables

Sums of normal rows are drawn by their own laws (normal, chi-squared, Wishart), so that a million rows cost what ten do.
Differences are taken on the scale on which they vary least with the value: logarithms of variances, Fisher's z of
correlations, roots of counts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dalenius.algebra.estimates import is_estimate
from dalenius.algebra.measured_moments import MeasuredMoments
from dalenius.core.estimate import Kind
from dalenius.core.law import Additive, FloatArray, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference import simulation
from dalenius.inference.drawn import condition, drawn_as, refuse_parameters, refuse_several_rows
from dalenius.inference.interval import checked
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.noise import Noise

MODELS = ("mean", "variance", "standard deviation", "covariance", "correlation")
_TINY, _WIDE = 1e-12, 1000.0
_ON_THE_LINE: dict[str, Callable[[np.random.Generator, float, tuple[int, ...]], FloatArray]] = {
    "discrete_gaussian": lambda rng, deviation, shape: deviation * rng.standard_normal(shape),
    "discrete_laplace": lambda rng, deviation, shape: rng.laplace(0.0, deviation / np.sqrt(2), shape),
}


@dataclass(frozen=True)
class _Scale:
    """A scale for differences, and the way back."""

    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]


_PLAIN = _Scale(np.asarray, np.asarray)
_LOGARITHM = _Scale(lambda v: np.log(np.maximum(v, _TINY)), np.exp)
_FISHER = _Scale(lambda v: np.arctanh(np.clip(v, -1 + 1e-9, 1 - 1e-9)), np.tanh)
_ROOT = _Scale(lambda v: 2 * np.sqrt(np.maximum(v, 0.0)), lambda z: (np.maximum(z, 0.0) / 2) ** 2)
_SCALES = {"variance": _LOGARITHM, "standard deviation": _LOGARITHM, "correlation": _FISHER}


def parametric_bootstrap(
    release: Release, *, confidence: float = 0.95, replicates: int = 1999, seed: int = 0
) -> IntervalTable:
    """Intervals for the parameters of every cell of the first table."""
    checked(confidence)
    table, rng = release.table, simulation.generator(seed)
    drawn = drawn_as(release)
    refuse_parameters(drawn)
    refuse_several_rows(drawn.rows)
    if is_estimate(release.law) and isinstance(release.law, Joint):
        name = str(release.law.parameters["estimate"])
        if name not in MODELS:
            raise _no_model(table)
        simulated, scale, model = (_moments(release, release.law, replicates, rng), _SCALES.get(name, _PLAIN), "normal")
    else:
        simulated, scale, model = _counts(release, table, replicates, rng), _ROOT, "Poisson"
    lower, upper = _turned(table.values, simulated, scale, confidence)
    zeros = table.space.structural_indices
    lower[list(zeros)], upper[list(zeros)] = 0.0, 0.0
    return IntervalTable(
        axes=table.space.axes,
        values=table.values,
        lower=lower,
        upper=upper,
        confidence=confidence,
        kind=Kind.NOISE_AND_SAMPLING,
        method=f"parametric bootstrap, {model} model, {replicates:,} simulated releases",
        is_simultaneous=False,
        notes=(condition(drawn),),
        structural_zeros=frozenset(zeros),
    )


def _no_model(table: Table) -> Unsupported:
    return Unsupported(
        f"There is no model to simulate a {table.measure} from; counts, means, variances, standard deviations, "
        "covariances and correlations have one.",
        measure=table.measure,
    )


def _turned(
    values: FloatArray, simulated: FloatArray, scale: _Scale, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """The released value less the quantiles of simulated differences; unknown where nothing can be simulated."""
    centre = scale.to(values)
    differences = scale.to(simulated) - centre
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):
        low, high = (np.quantile(differences, p, axis=0) for p in (tail, 1 - tail))
    lower, upper = scale.back(centre - high), scale.back(centre - low)
    return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)


def _counts(release: Release, table: Table, replicates: int, rng: np.random.Generator) -> FloatArray:
    block = next((b for b in release.blocks if b.name == table.name), None)
    if table.measure != "count" or block is None or not isinstance(block.law, Additive):
        raise _no_model(table)
    means = np.maximum(table.values, 0.5)
    drawn = rng.poisson(means, size=(replicates, len(means))).astype(np.float64)
    return drawn + _noise(block.law, drawn.shape, rng)


def _noise(law: Additive, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Draws of the published noise; wide noise by the law on the line that it is a grid of."""
    deviation = float(np.sqrt(law.noise.variance))
    if deviation > _WIDE and law.noise.name in _ON_THE_LINE:
        return _ON_THE_LINE[law.noise.name](rng, deviation, shape)
    noise = Noise.of(law)
    return np.asarray(simulation.pick(noise.first, noise.pmf, shape, rng), dtype=np.float64)


def _moments(release: Release, law: Joint, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Estimates from simulated sums, replicates by cells."""
    cells = release.table.space.size
    measured = MeasuredMoments.of(law, release.blocks, cells)
    if not measured.has_squares:
        raise Unsupported(
            'The spread of the values was not measured with this release; ask anew with error = "sampling" in [table].',
            measure=release.table.measure,
        )
    n, means, covariance = measured.fitted()
    is_known = np.isfinite(n) & (n >= 2) & np.isfinite(covariance).all(axis=(1, 2))
    n = np.where(is_known, n, 2.0)
    root = _roots(np.where(is_known[:, None, None], covariance, 0.0))
    width = means.shape[1]
    shape = (replicates, cells)
    scores = np.einsum("cij,rcj->rci", root, rng.standard_normal((*shape, width)))
    totals = n[:, None] * np.nan_to_num(means) + np.sqrt(n)[:, None] * scores
    # Bartlett's triangle: the sum of squared deviations of n normal rows.
    triangle = np.zeros((*shape, width, width))
    for i in range(width):
        triangle[..., i, i] = np.sqrt(rng.chisquare(np.maximum(n - 1 - i, 1e-9), size=shape))
        for j in range(i):
            triangle[..., i, j] = rng.standard_normal(shape)
    factor = np.einsum("cij,rcjk->rcik", root, triangle)
    deviations = factor @ np.swapaxes(factor, -1, -2)
    squares = deviations + totals[..., :, None] * totals[..., None, :] / n[:, None, None]
    arrays = measured.arrays_of(np.broadcast_to(n, shape), totals, squares)
    arrays += np.array([_noise(one, shape, rng) for one in measured.sums.laws])
    again = replace(measured, sums=replace(measured.sums, values=arrays.reshape(len(arrays), -1)))
    return np.where(is_known, again.estimate().values.reshape(shape), np.nan)


def _roots(covariance: FloatArray) -> FloatArray:
    """Square roots of covariance matrices; what noise made negative is nothing."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])
