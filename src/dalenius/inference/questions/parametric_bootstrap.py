"""Intervals from a model fitted to a release: docs/reference/inference/questions/parametric_bootstrap.md.

Differences are taken on the scale on which they vary least with the value: logarithms of variances, Fisher's z of
correlations, roots of counts.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from dalenius.algebra.estimate_law import EstimateLaw
from dalenius.algebra.estimates import estimator_of, is_estimate, sums_of
from dalenius.algebra.estimator import ROWS, Scale
from dalenius.algebra.intervals import estimate
from dalenius.algebra.sums import Form, Sums
from dalenius.core.estimate import Kind
from dalenius.core.law import Additive, FloatArray, Joint, Law
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference import simulation
from dalenius.inference.drawn import condition, drawn_as, refuse_parameters, refuse_several_rows
from dalenius.inference.interval import checked
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.noise import Noise
from dalenius.inference.observe import Source
from dalenius.inference.parameters import Confidence, Replicates, Seed
from dalenius.inference.question import InferenceQuestion

# Sums that normal rows have, and what a modifier adds to a law so that its sums are those of other values.
_MOMENTS = frozenset((ROWS, "x", "y", "x x", "y y", "x y"))
_OTHER_VALUES = frozenset(("family", "learned_bounds", "window"))
_TINY, _WIDE = 1e-12, 1000.0
_ON_THE_LINE: dict[str, Callable[[np.random.Generator, float, tuple[int, ...]], FloatArray]] = {
    "discrete_gaussian": lambda rng, deviation, shape: deviation * rng.standard_normal(shape),
    "discrete_laplace": lambda rng, deviation, shape: rng.laplace(0.0, deviation / np.sqrt(2), shape),
}


@dataclass(frozen=True)
class _Scale:
    to: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]


_PLAIN = _Scale(np.asarray, np.asarray)
_LOGARITHM = _Scale(lambda v: np.log(np.maximum(v, _TINY)), np.exp)
_FISHER = _Scale(lambda v: np.arctanh(np.clip(v, -1 + 1e-9, 1 - 1e-9)), np.tanh)
_ROOT = _Scale(lambda v: 2 * np.sqrt(np.maximum(v, 0.0)), lambda z: (np.maximum(z, 0.0) / 2) ** 2)
_SCALES = {Scale.LOG: _LOGARITHM, Scale.FISHER: _FISHER}


def parametric_bootstrap(
    release: Source, replicates: Replicates = 1999, seed: Seed = 0, confidence: Confidence = 0.95
) -> IntervalTable:
    """Intervals for parameters by simulating a fitted model and the published noise."""
    if not isinstance(release, Release):
        raise Unsupported("The parametric bootstrap simulates one release; ask about one at a time.")
    checked(confidence)
    table, rng = release.table, simulation.generator(seed)
    drawn = drawn_as(release)
    refuse_parameters(drawn)
    refuse_several_rows(drawn.rows)
    if is_estimate(release.law):
        law = _modelled(release.law, table)
        simulated, model = _moments(release, law, replicates, rng), "normal"
        scale = _SCALES.get(estimator_of(law).scale, _PLAIN)
    else:
        simulated, scale, model = _counts(release, table, replicates, rng), _ROOT, "Poisson"
    lower, upper = _turned(table.values, simulated, scale, confidence)
    zeros = table.space.structural_indices
    lower[list(zeros)], upper[list(zeros)] = 0.0, 0.0
    method = f"parametric bootstrap, {model} model, {replicates:,} simulated releases"
    stated = {"kind": Kind.NOISE_AND_SAMPLING, "method": method, "notes": (condition(drawn),)}
    return IntervalTable.of(table, (lower, upper), confidence=confidence, **stated)


def _modelled(law: Law, table: Table) -> EstimateLaw:
    """The law of an estimate whose sums normal rows have. Raises `Unsupported` for any other."""
    if not isinstance(law, Joint) or "estimate" in law.parameters:
        raise _no_model(table)
    read = EstimateLaw.of(law)
    if not {ROWS, "x"} <= read.sums.keys() <= _MOMENTS or read.weight is not None or read.more.keys() & _OTHER_VALUES:
        raise _no_model(table)
    return read


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


def _moments(release: Release, law: EstimateLaw, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Estimates from simulated sums, replicates by cells."""
    cells = release.table.space.size
    sums = sums_of(law, release.blocks, cells)
    n, means, covariance = _fitted(sums, release.table)
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
    moments = {ROWS: np.broadcast_to(n, shape)}
    for i, first in enumerate(_roles(sums)):
        moments[first] = totals[..., i]
        for j, second in enumerate(_roles(sums)):
            moments[f"{first} {second}"] = squares[..., i, j]
    noise = np.array([_noise(one, shape, rng).reshape(-1) for one in sums.measured.laws])
    measured = replace(sums.measured, values=noise)
    # What is added to the noise of a sum is the sum of the simulated rows.
    forms = {name: Form(measured, form.weights, moments[name].reshape(-1)) for name, form in sums.forms.items()}
    again = estimate(estimator_of(law), Sums(law, measured, forms))
    return np.where(is_known, again.values.reshape(shape), np.nan)


def _roles(sums: Sums) -> list[str]:
    return [role for role in ("x", "y") if role in sums.places]


def _fitted(sums: Sums, table: Table) -> tuple[FloatArray, FloatArray, FloatArray]:
    """n, means about the centres and covariances in each cell, without the bias that noise of the totals brings."""
    roles, cells = _roles(sums), table.space.size
    n = np.broadcast_to(sums.forms[ROWS].values, (cells,))
    n = np.where(n >= 2, n, np.nan)
    totals = [sums.forms[role] for role in roles]
    means = np.stack([np.broadcast_to(total.values, (cells,)) / n for total in totals], axis=1)
    covariance = np.zeros((cells, len(roles), len(roles)))
    for i, j in combinations_with_replacement(range(len(roles)), 2):
        squares = sums.product(roles[i], roles[j])
        if squares is None:
            raise Unsupported(
                "The spread of the values was not measured with this release; ask anew with error = "
                '"sampling" in [table].',
                measure=table.measure,
            )
        noise = totals[i].covariance(totals[j]) / n**2
        value = squares.values / n - means[:, i] * means[:, j] + noise
        covariance[:, i, j] = covariance[:, j, i] = value * n / (n - 1)
    return n, means, covariance


def _roots(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


PARAMETRIC_BOOTSTRAP = InferenceQuestion(
    name="parametric_bootstrap",
    ask=parametric_bootstrap,
    assumes=("Counts are Poisson; values behind means, variances and correlations are normal.",),
    examples=({"replicates": 499},),
    is_simulated=True,
    served_cells=1_000,
)
