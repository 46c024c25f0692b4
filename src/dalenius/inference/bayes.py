"""The posterior of the true counts and their margins, by exact Gibbs steps: docs/reference/inference/bayes.md."""

from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.estimate import Estimate, Interval, Kind, short
from dalenius.core.law import FloatArray, IntArray
from dalenius.errors import ParameterError, Unsupported
from dalenius.inference import simulation
from dalenius.inference.contrast import Where, describe, selection
from dalenius.inference.drawn import refuse_parameters, refuse_several_rows
from dalenius.inference.interval import check_among, checked
from dalenius.inference.joint import JointObserved
from dalenius.inference.observation import Observed
from dalenius.inference.observe import Source, observe
from dalenius.inference.parameters import AxisName, Seed
from dalenius.inference.question import Hint
from dalenius.rendering import Axes, draw_cells, grid, two_lines

MODELS = ("saturated", "independence")
GOOD_RHAT = 1.01
_MOST_PRINTED = 202


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """Draws of the true counts: chains x draws x cells."""

    observation: Observed
    model: str
    counts: IntArray
    means: FloatArray
    rhat: FloatArray

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.observation.axes

    @property
    def is_converged(self) -> bool:
        """Whether every cell's split R-hat is below 1.01."""
        return bool(np.nanmax(self.rhat) < GOOD_RHAT)

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.counts.mean((0, 1))).reshape(self.observation.shape)

    def count(self, where: Where, *, confidence: float = 0.95) -> Estimate:
        """Posterior of the true count of a selection of cells, a margin for example."""
        weights = selection(self.observation, where)
        return self._summary(f"posterior count of {describe(where)}", self.counts @ weights, confidence, Kind.NOISE)

    def odds_ratio(self, *, confidence: float = 0.95) -> Estimate:
        """Posterior of the odds ratio of the means of a 2 x 2 table."""
        if self.observation.shape != (2, 2):
            raise ParameterError("An odds ratio of the posterior needs a 2 x 2 table.")
        refuse_parameters(self.observation)
        refuse_several_rows(self.observation.rows)
        m = self.means
        draws = m[..., 0] * m[..., 3] / (m[..., 1] * m[..., 2])
        return self._summary("posterior odds ratio", draws, confidence, Kind.NOISE_AND_SAMPLING)

    def intervals(self, *, confidence: float = 0.95) -> FloatArray:
        """Equal-tail posterior intervals of every true count: cells x 2."""
        checked(confidence)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        return np.quantile(self.counts.reshape(-1, self.counts.shape[2]), tails, axis=0, method="inverted_cdf").T

    def _summary(self, name: str, draws: FloatArray, confidence: float, kind: Kind) -> Estimate:
        checked(confidence)
        low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2], method="inverted_cdf")
        rhat = float(split_rhat(draws[..., None])[0])
        return Estimate(
            name=name,
            value=float(draws.mean()),
            std_error=float(draws.std()),
            interval=Interval(
                lower=float(low), upper=float(high), confidence=confidence, kind=kind, method="equal-tail posterior"
            ),
            assumptions=(f"Model: {self.model}, Jeffreys priors.", f"Split R-hat {rhat:.4f}.", *self.observation.notes),
        )

    def __str__(self) -> str:
        chains, draws, _ = self.counts.shape
        state = "converged" if self.is_converged else "NOT converged: run longer"
        lines = [
            f"Posterior of the true counts of {' x '.join(self.observation.names)}, model {self.model}",
            f"  {chains} chains of {draws} draws, largest split R-hat {np.nanmax(self.rhat):.4f} ({state})",
        ]
        cells = zip(CellSpace(self.axes).labels(), self.mean.reshape(-1), self.intervals(), strict=True)
        for labels, mean, (low, high) in islice(cells, _MOST_PRINTED):
            ends = f"[{short(float(low))}, {short(float(high))}]"
            lines.append(f"  {' | '.join(labels):40s} {short(float(mean)):>10s}  {ends}")
        return "\n".join([*lines, *(f"  {n}" for n in self.observation.notes)])

    def to_dict(self) -> dict[str, Any]:
        """For documents: means and intervals, not the draws."""
        return {
            "model": self.model,
            "largest_rhat": float(np.nanmax(self.rhat)),
            "is_converged": self.is_converged,
            "mean": self.mean.reshape(-1).tolist(),
            "intervals": self.intervals().tolist(),
        }

    def __repr__(self) -> str:
        return two_lines(*(line.strip() for line in str(self).split("\n")[:2]))

    def _repr_html_(self) -> str:
        cells = zip(CellSpace(self.axes).labels(), self.mean.reshape(-1), self.intervals(), strict=True)
        lines = [
            [*labels, short(float(mean)), f"{short(float(low))} – {short(float(high))}"]
            for labels, mean, (low, high) in cells
        ]
        heads = [*self.observation.names, "Posterior mean", "95% interval"]
        notes = [*str(self).split("\n")[1:2], *self.observation.notes]
        return grid(str(self).split("\n")[0], heads, lines, labels=len(self.axes), notes=notes)

    def plot(self, path: object = None) -> Axes:
        """Posterior means and 95 % intervals of every true count."""
        ends = self.intervals()
        labels = [" | ".join(label) for label in CellSpace(self.axes).labels()]
        caption = "true count, posterior mean and 95 % interval"
        return draw_cells(labels, self.mean.reshape(-1), ends[:, 0], ends[:, 1], caption=caption, path=path)


def posterior(
    source: Source,
    *axes: AxisName,
    model: Annotated[str, Hint(help="saturated or independence.", choices=MODELS)] = "saturated",
    draws: Annotated[int, Hint(help="Draws of each of four chains.", least=100, most=50_000)] = 2000,
    burn_in: int = 500,
    chains: int = 4,
    seed: Seed = 0,
) -> Posterior:
    """Draw the true counts given the release: posterior means and intervals of every cell."""
    check_among("model", model, MODELS)
    if chains < 2 or draws < 4:
        raise ParameterError("At least 2 chains of 4 draws are needed to judge convergence.")
    observation = observe(source, *axes, of_process=False)
    if isinstance(observation, JointObserved):
        raise Unsupported("Gibbs sampling needs a law for each cell; this table combines several measurements.")
    rng = simulation.generator(seed)
    inside = observation.possible.reshape(-1)
    weights = observation.likelihood.windows()
    mean = np.maximum(observation.guess.reshape(-1)[inside], 0.5) * rng.gamma(5.0, 0.2, (chains, int(inside.sum())))
    counts = np.zeros((chains, draws, inside.size), dtype=np.int64)
    means = np.zeros((chains, draws, inside.size))
    factors = [np.ones((chains, len(axis))) for axis in observation.axes]
    factors[0] *= max(float(observation.guess.sum()), 1.0) / max(inside.sum(), 1)
    for step in range(-burn_in, draws):
        a = _draw_counts(*weights, mean, rng)
        if model == "saturated":
            mean = rng.gamma(a + 0.5)
        else:
            full = np.zeros((chains, inside.size))
            full[:, inside] = a
            mean = _draw_factors(full.reshape(chains, *observation.shape), factors, observation, rng)[:, inside]
        if step >= 0:
            counts[:, step, inside], means[:, step, inside] = a, mean
    return Posterior(observation=observation, model=model, counts=counts, means=means, rhat=split_rhat(counts))


def _draw_counts(first: IntArray, base: FloatArray, mean: FloatArray, rng: np.random.Generator) -> IntArray:
    """True counts given means, by inversion over each cell's window."""
    steps = np.arange(base.shape[1])
    log = base + np.log(np.maximum(mean, 1e-13))[..., None] * steps
    log -= log.max(-1, keepdims=True)
    running = np.cumsum(np.exp(log), axis=-1)
    target = rng.random(mean.shape)[..., None] * running[..., -1:]
    return np.asarray(first + (running < target).sum(-1), dtype=np.int64)


def _draw_factors(
    counts: FloatArray, factors: list[FloatArray], observation: Observed, rng: np.random.Generator
) -> FloatArray:
    """One factor after another given the counts: gamma with the margin as shape."""
    chains, ndim = len(counts), len(observation.shape)
    for k in range(ndim):
        others = np.broadcast_to(observation.possible, counts.shape).astype(np.float64)
        for m in range(ndim):
            if m != k:
                others = others * _spread(factors[m], m, ndim)
        over = tuple(a + 1 for a in range(ndim) if a != k)
        factors[k] = rng.gamma(counts.sum(over) + 0.5) / np.maximum(others.sum(over), 1e-300)
    # The level moves between factors without changing their product: fix it in the first.
    for k in range(1, ndim):
        size = factors[k].mean(1, keepdims=True)
        factors[k], factors[0] = factors[k] / size, factors[0] * size
    mean = np.ones_like(counts)
    for k in range(ndim):
        mean = mean * _spread(factors[k], k, ndim)
    return mean.reshape(chains, -1)


def _spread(factor: FloatArray, axis: int, ndim: int) -> FloatArray:
    shape = [len(factor)] + [1] * ndim
    shape[axis + 1] = factor.shape[1]
    return factor.reshape(shape)


def split_rhat(draws: FloatArray | IntArray) -> FloatArray:
    """Split R-hat of each quantity: chains x draws x quantities, each chain cut in two halves."""
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]], axis=0).astype(np.float64)
    within = parts.var(1, ddof=1).mean(0)
    between = half * parts.mean(1).var(0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt(((half - 1) / half * within + between / half) / within)
    return np.where(within > 0, rhat, np.where(between > 0, np.inf, 1.0))
