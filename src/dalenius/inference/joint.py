"""Tables that combine several measured blocks: values with a full noise covariance, fitted by quasi-likelihood.

The estimating equations X' D W (x - mu) = 0, with D = diag(mu) and W = (D + S)^-1, are unbiased whatever the shape of
the noise (docs/reference/inference/likelihood.md). Tests use the quadratic form (x - mu)' W (x - mu) and are calibrated
by simulating the blocks themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra import joint
from dalenius.core.law import FloatArray, IntArray, Joint, Law
from dalenius.core.release import Release, Table
from dalenius.errors import TooLarge
from dalenius.inference import simulation
from dalenius.inference.drawn import SeenTable

MOST_CELLS = 1500
_MOST_INTERIOR = 4_000_000
_CHUNK = 8_000_000
_NORMAL = "The noise was simulated as normal with its exact covariance, because the full cross is large."

Sampler = Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True, eq=False, kw_only=True)
class JointObserved(SeenTable):
    """Unbiased values with a covariance, and a way to draw such noise again.

    `dispersion` is the variance of each exact cell in multiples of its mean: one for counts, which is left out, what
    the weights say for weighted counts, and the rows of a unit where there are several. `impossible` are structural
    zeros (flat positions).
    """

    values: FloatArray
    covariance: FloatArray
    noise: Sampler
    total: int | None = None
    laws: tuple[Law, ...] = ()
    dispersion: FloatArray | None = None
    is_weighted: bool = False
    impossible: tuple[int, ...] = ()

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        return ~np.isin(np.arange(self.values.size), self.impossible).reshape(self.shape)

    @property
    def guess(self) -> FloatArray:
        return self.values

    @property
    def released(self) -> FloatArray:
        return self.values

    @cached_property
    def _diagonal(self) -> FloatArray:
        return np.diag(self.covariance).reshape(self.shape).copy()

    def variance(self, mean: FloatArray) -> FloatArray:
        """What the variance of each cell has beyond its mean: that of the noise, and of weights."""
        if self.dispersion is None:
            return self._diagonal
        return np.asarray(self._diagonal + (self.dispersion - 1) * mean, dtype=np.float64)

    def variance_of_total(self, mean: FloatArray) -> float:
        spread = 0.0 if self.dispersion is None else float(((self.dispersion - 1) * mean).sum())
        return float(self.covariance.sum()) + spread

    def counts(self, means: FloatArray, rng: np.random.Generator) -> FloatArray | IntArray:
        """New exact cells for each table of means; weighted ones are multiples of Poisson counts of right variance."""
        if self.dispersion is None:
            return simulation.counts(means, rng, self.total)
        return np.asarray(self.dispersion * simulation.counts(means / self.dispersion, rng), dtype=np.float64)

    def simulate(self, mean: FloatArray, replicates: int, rng: np.random.Generator) -> FloatArray:
        return self.measure(simulation.repeated(mean, replicates), rng)

    def measure(self, means: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.send(self.counts(means, rng), rng)

    def send(self, counts: FloatArray | IntArray, rng: np.random.Generator) -> FloatArray:
        return counts + self.noise(len(counts), rng).reshape(counts.shape)

    def guesses(self, values: FloatArray | IntArray) -> FloatArray:
        return np.asarray(values, dtype=np.float64)

    def fitted(
        self,
        values: FloatArray | IntArray,
        design: FloatArray,
        start: FloatArray | None = None,
        offset: FloatArray | None = None,
    ) -> "QuasiFit":
        """The fit of each of many such tables: structural zeros take no part, and their means are 0."""
        inside = self.possible.reshape(-1)
        fit = quasi_fit(
            np.asarray(values, dtype=np.float64).reshape(len(values), -1)[:, inside],
            self.covariance[np.ix_(inside, inside)],
            design[inside],
            start=None if start is None else start.reshape(-1, inside.size)[:, inside],
            total=self.total,
            offset=None if offset is None else offset.reshape(-1)[inside],
            dispersion=None if self.dispersion is None else self.dispersion.reshape(-1)[inside],
        )
        mean = np.zeros((len(values), inside.size))
        mean[:, inside] = fit.mean
        return fit._replace(mean=mean)


def of_joint(release: Release, table: Table, names: tuple[str, ...]) -> JointObserved:
    """A shown table of a joint release, or its margin over the named axes, in their order."""
    size = table.space.size
    if size > MOST_CELLS:
        raise TooLarge(
            f"The covariance of this table has {size:,} rows; joint inference serves at most {MOST_CELLS:,} cells."
        )
    assert isinstance(release.law, Joint)
    linear = joint.linear_map(release, table)
    values = linear([block.values for block in release.blocks])
    covariance = joint.covariance(release, table, range(size))
    axes = table.space.axes
    order = [[a.name for a in axes].index(n) for n in names] if names else list(range(len(axes)))
    collapse = collapse_matrix(table.space.shape, order)
    total = release.law.parameters.get("total")
    possible = np.ones(size)
    possible[list(table.space.structural_indices)] = 0
    return JointObserved(
        axes=tuple(axes[k] for k in order),
        values=(collapse @ values).reshape(tuple(table.space.shape[k] for k in order)),
        covariance=collapse @ covariance @ collapse.T,
        noise=_sampler(release, table, covariance, collapse),
        total=None if total is None else int(total),
        notes=(_NORMAL,) if _interior(release) > _MOST_INTERIOR else (),
        laws=tuple(block.law for block in release.blocks),
        impossible=tuple(np.flatnonzero(collapse @ possible == 0).tolist()),
    )


def collapse_matrix(shape: tuple[int, ...], order: list[int]) -> FloatArray:
    """The matrix that sums a flat table over the axes that are not kept."""
    cells = np.indices(shape).reshape(len(shape), -1)
    kept = tuple(shape[k] for k in order)
    target = (
        np.ravel_multi_index([cells[k] for k in order], kept) if order else np.zeros(cells.shape[1], dtype=np.int64)
    )
    matrix = np.zeros((int(np.prod(kept)), cells.shape[1]))
    matrix[target, np.arange(cells.shape[1])] = 1.0
    return matrix


def _interior(release: Release) -> int:
    assert isinstance(release.law, Joint)
    return int(np.prod([int(n) for n in release.law.parameters["shape"]], dtype=np.float64))


def _sampler(release: Release, table: Table, covariance: FloatArray, collapse: FloatArray) -> Sampler:
    """Noise of the shown cells: the blocks of an empty table, measured anew and mapped."""
    if _interior(release) > _MOST_INTERIOR:
        spectrum, basis = np.linalg.eigh(covariance)
        root = collapse @ (basis * np.sqrt(np.maximum(spectrum, 0.0)))
        return lambda replicates, rng: rng.standard_normal((replicates, root.shape[1])) @ root.T
    linear = joint.linear_map(release, table)
    empty = linear([np.zeros_like(block.values) for block in release.blocks])
    zero = np.zeros(_interior(release), dtype=np.int64)

    def draw(replicates: int, rng: np.random.Generator) -> FloatArray:
        drawn = [linear(blocks) - empty for blocks in joint.simulate(release, zero, rng, replicates)]
        return np.asarray(drawn) @ collapse.T

    return draw


class QuasiFit(NamedTuple):
    """Fitted means of each table, the quadratic form there, and the information of the coefficients."""

    mean: FloatArray
    distance: FloatArray
    information: FloatArray
    coefficients: FloatArray


def quasi_fit(
    values: FloatArray,
    covariance: FloatArray,
    design: FloatArray,
    *,
    start: FloatArray | None = None,
    total: float | None = None,
    offset: FloatArray | None = None,
    dispersion: FloatArray | None = None,
) -> QuasiFit:
    """Solve the estimating equations for each table (first axis: tables; cells flat)."""
    cells = values.shape[1]
    spread = np.ones(cells) if dispersion is None else dispersion.reshape(-1)
    per = max(_CHUNK // (cells * cells), 1)
    if len(values) > per:
        has_own = start is not None and len(start) > 1
        parts = [
            quasi_fit(
                values[i : i + per],
                covariance,
                design,
                start=start[i : i + per] if start is not None and has_own else start,
                total=total,
                offset=offset,
                dispersion=dispersion,
            )
            for i in range(0, len(values), per)
        ]
        return QuasiFit(*map(np.concatenate, zip(*parts, strict=True)))
    fixed = np.zeros(cells) if offset is None else offset
    if start is None:
        level = np.log(np.maximum(values.mean(1, keepdims=True), 0.1))
        theta = np.broadcast_to(level, values.shape)
    else:
        theta = np.broadcast_to(np.log(np.maximum(start, 1e-6)), values.shape)
    beta = np.linalg.lstsq(design, (theta - fixed).T, rcond=None)[0].T
    information = np.zeros((len(values), design.shape[1], design.shape[1]))
    mean = np.exp(fixed + beta @ design.T)
    for _ in range(60):
        weighted, information = _normal_equations(mean, covariance, design, spread)
        score = np.einsum("bnp,bn->bp", weighted, values - mean)
        ridge = 1e-9 * np.trace(information, axis1=1, axis2=2)[:, None, None] * np.eye(design.shape[1])
        step = np.linalg.solve(information + ridge + 1e-12 * np.eye(design.shape[1]), score[..., None])[..., 0]
        largest = np.abs(step @ design.T).max(1, keepdims=True)
        beta = beta + step * np.minimum(1.0, 1.5 / np.maximum(largest, 1e-12))
        theta = np.clip(fixed + beta @ design.T, -25.0, 40.0)
        mean = np.exp(theta)
        if total is not None:
            mean *= total / mean.sum(1, keepdims=True)
        if largest.max() < 1e-7:
            break
    residual = values - mean
    weight = (spread * mean)[:, :, None] * np.eye(cells) + covariance
    distance = np.einsum("bn,bn->b", residual, np.linalg.solve(weight, residual[..., None])[..., 0])
    return QuasiFit(mean, distance, information, np.asarray(beta, dtype=np.float64))


def _normal_equations(
    mean: FloatArray, covariance: FloatArray, design: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """W D X and X' D W D X of each table; `spread` is the variance of an exact cell over its mean."""
    weight = (spread * mean)[:, :, None] * np.eye(mean.shape[1]) + covariance
    scaled = mean[:, :, None] * design
    weighted = np.linalg.solve(weight, scaled)
    information = np.einsum("bnp,bnq->bpq", scaled, weighted)
    return np.asarray(weighted, dtype=np.float64), np.asarray(information, dtype=np.float64)
