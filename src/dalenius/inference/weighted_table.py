"""Weighted counts as tests see them: values, noise, and how weights spread cells (docs/reference/inference/tests.md).

What single cells say beyond the common dispersion is believed as far as their noise allows (Efron & Morris, 1975).
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dalenius.core.law import WEIGHTED_LIST, Additive, FloatArray, Joint, law_from_dict
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference import simulation
from dalenius.inference.drawn import drawn_as, refuse_clusters, refuse_weights
from dalenius.inference.joint import JointObserved, collapse_matrix, of_joint
from dalenius.inference.noise import Noise

WEIGHTED = "weighted"
COUNTS, SQUARES = "weighted count", "squared weights"


def is_weighted(release: Release) -> bool:
    return isinstance(release.law, Joint) and release.law.structure in (WEIGHTED, WEIGHTED_LIST)


def of_weighted(release: Release, names: tuple[str, ...]) -> JointObserved:
    """The weighted counts over the named axes, or of the first table; refused where no design is declared."""
    assert isinstance(release.law, Joint)
    drawn = drawn_as(release)
    refuse_clusters(drawn.draws)
    refuse_weights(drawn.draws)
    counts = _weighted(release, release.law, names)
    assert counts.dispersion is not None
    return replace(
        counts, dispersion=drawn.rows * counts.dispersion, rows=drawn.rows, draws=drawn.draws, is_weighted=True
    )


def _weighted(release: Release, law: Joint, names: tuple[str, ...]) -> JointObserved:
    if law.structure == WEIGHTED_LIST:
        return _listed(release, law, names)
    counts, squares = release.tables
    if any(counts.space.structural_zeros):
        raise Unsupported("Weighted tables with impossible cells are not tested; ask for a table without them.")
    axes = counts.space.axes
    order = _order(counts, names)
    measured = release.blocks[0].law
    assert isinstance(measured, Additive)
    noise, step, collapse = (Noise.of(measured), float(measured.step), collapse_matrix(counts.space.shape, order))

    def draw(replicates: int, rng: np.random.Generator) -> FloatArray:
        drawn = simulation.pick(noise.first, noise.pmf, (replicates, counts.space.size), rng)
        return np.asarray(step * drawn @ collapse.T, dtype=np.float64)

    return _observed(
        JointObserved(
            axes=tuple(axes[k] for k in order),
            values=(collapse @ counts.values).reshape(tuple(len(axes[k]) for k in order)),
            covariance=collapse @ np.diag(counts.variance) @ collapse.T,
            noise=draw,
        ),
        collapse @ squares.values,
        collapse @ np.diag(squares.variance) @ collapse.T,
        None,
    )


def _order(table: Table, names: tuple[str, ...]) -> list[int]:
    own = [axis.name for axis in table.space.axes]
    if not set(names) <= set(own):
        raise Unsupported(f"The table has {' and '.join(own)}; received {', '.join(names)}.")
    return [own.index(name) for name in names] if names else list(range(len(own)))


def _listed(release: Release, law: Joint, names: tuple[str, ...]) -> JointObserved:
    """From both lists, each a release of its own kind."""
    first = int(law.parameters["blocks"][0])
    parts = []
    for measure, own, blocks in (
        (COUNTS, "counts", release.blocks[:first]),
        (SQUARES, "squares", release.blocks[first:]),
    ):
        tables = tuple(table for table in release.tables if table.measure == measure)
        one = release.with_(law=law_from_dict(law.parameters[own]), tables=tables, blocks=tuple(blocks))
        holding = [t for t in tables if set(names) <= {axis.name for axis in t.space.axes}]
        if not holding:
            raise Unsupported(f"No table of the list has the axes {', '.join(names)}.")
        exact = [t for t in holding if len(t.space.axes) == len(names)]
        chosen = (exact or [max(holding, key=lambda t: t.space.size)])[0] if names else holding[0]
        parts.append(of_joint(one, chosen, names or tuple(axis.name for axis in chosen.space.axes)))
    counts, squares = parts
    low, high = (float(Fraction(end)) for end in law.parameters["weights"])
    return _observed(counts, squares.values.reshape(-1), squares.covariance, (low, high))


def _observed(
    counts: JointObserved, squares: FloatArray, noise: FloatArray, limits: tuple[float, float] | None
) -> JointObserved:
    spread = dispersion(counts.values.reshape(-1), squares, noise, limits).reshape(counts.shape)
    note = (
        f"Weights make the variance of a cell {float(spread.min()):.3g} to {float(spread.max()):.3g} times its "
        "weighted count, by the released squared weights."
    )
    return replace(counts, dispersion=spread, notes=(*counts.notes, note))


def dispersion(
    weights: FloatArray, squares: FloatArray, noise: FloatArray, limits: tuple[float, float] | None
) -> FloatArray:
    """Sum of squared weights over sum of weights, by cell; `noise` is the covariance of the released squares."""
    total = max(float(weights.sum()), 1e-9)
    common = max(float(squares.sum()), 0.0) / total
    doubt = float(np.sqrt(max(noise.sum(), 0.0))) / total
    safe = np.maximum(weights, 1e-9 * total)
    own, variance = squares / safe, np.diag(noise) / safe**2
    share = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    apart = float(share @ (own - common) ** 2) - float(share @ variance)
    believed = max(apart, 0.0) / (max(apart, 0.0) + variance + 1e-300)
    found = np.where(weights > 0, common + believed * (own - common), common) + doubt
    low, high = limits if limits is not None else (0.0, np.inf)
    return np.asarray(np.clip(found, max(low, 1e-9), max(high, 1e-9)), dtype=np.float64)
