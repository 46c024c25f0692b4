"""What an analyst sees of a table: released values, the law through which they were seen, and nothing else.

Shown tables that were clipped or rounded are never analysed: their law is another, and the measured values are in the
release. A law that is withheld is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Axis
from dalenius.core.law import Additive, Censored, FloatArray, IntArray, Joint, Kernel, Withheld
from dalenius.core.release import Block, Release, Table
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.inference import simulation
from dalenius.inference.channel import CensoredShift, Channel, Grouped, Kernelled, Shifted
from dalenius.inference.drawn import SeenTable
from dalenius.inference.grid import Many
from dalenius.inference.likelihood import CountLikelihood, Moments
from dalenius.inference.noise import Noise

ADJUSTED = "The shown table was adjusted ({names}); the measured values, which are unbiased, were analysed instead."

CENSORED = "Counts below {least} are shown as 0 by a rule of the policy; the analysis uses the law of what is shown."


@dataclass(frozen=True, eq=False, kw_only=True)
class Observed(SeenTable):
    """Counts seen cell by cell through a channel. `values` has the shape of the table (and an axis of releases)."""

    values: IntArray
    channel: Channel
    possible: NDArray[np.bool_]
    total: int | None = None

    @property
    def released(self) -> IntArray:
        """Released values in the shape of the table, where each cell was released once."""
        return self.values[..., 0] if isinstance(self.channel, Grouped) else self.values

    @cached_property
    def likelihood(self) -> CountLikelihood:
        return CountLikelihood(self.channel, self.values[self.possible])

    @cached_property
    def guess(self) -> FloatArray:
        """Unbiased values; negative ones are not hidden."""
        return np.where(self.possible, self.channel.centre(self.values), 0.0)

    def variance(self, mean: FloatArray) -> FloatArray:
        return np.where(self.possible, self.channel.variance(mean, self.values), 0.0)

    def variance_of_total(self, mean: FloatArray) -> float:
        return float(self.variance(mean).sum())

    def moments(self, mean: FloatArray) -> Moments:
        """Log-likelihood, score and posterior variance of each cell; zero for structural zeros."""
        inner = self.likelihood(mean[self.possible])
        full = Moments(*(np.zeros(self.shape) for _ in range(3)))
        for target, source in zip(full, inner, strict=True):
            target[self.possible] = source
        return full

    @cached_property
    def saturated(self) -> tuple[FloatArray, float]:
        """Cell-by-cell maximum-likelihood means, and the log-likelihood of the whole table."""
        mean, best = self.likelihood.saturated
        full = np.zeros(self.shape)
        full[self.possible] = mean
        return full, float(best.sum())

    def simulate(self, mean: FloatArray, replicates: int, rng: np.random.Generator) -> IntArray:
        return self.measure(simulation.repeated(mean, replicates), rng)

    def measure(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        return self.send(self.counts(means, rng), rng)

    def counts(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        return simulation.counts(means, rng, self.total)

    def send(self, counts: IntArray, rng: np.random.Generator) -> IntArray:
        observation = self.channel.send(counts, rng)
        if isinstance(self.channel, Grouped):
            observation[:, ~self.possible, 0] = 0
        else:
            observation[:, ~self.possible] = 0
        return observation

    def guesses(self, values: FloatArray | IntArray) -> FloatArray:
        return self.channel.centre(np.asarray(values, dtype=np.int64))

    def many(self, values: IntArray) -> Many:
        return Many(self.channel, self.possible, values)


def from_values(
    values: Sequence[object] | IntArray,
    law: Additive | Kernel | Noise,
    *,
    axes: Sequence[str] = (),
    total: int | None = None,
) -> Observed:
    """Released values with their law, without a release document: for quick analyses and simulations."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        if not np.all(array == np.rint(array)):
            raise ParameterError("Released counts are whole numbers; received fractions.")
        array = array.astype(np.int64)
    names = list(axes) or [chr(ord("A") + k) for k in range(array.ndim)]
    if len(names) != array.ndim:
        raise ParameterError(f"The table has {array.ndim} axes; received {len(names)} names.")
    made = tuple(
        Axis(variable=name, labels=tuple(str(i + 1) for i in range(width)))
        for name, width in zip(names, array.shape, strict=True)
    )
    noise = Noise.of(law) if isinstance(law, Additive) else law
    channel: Channel = Shifted(noise) if isinstance(noise, Noise) else Kernelled(noise)
    return Observed(
        axes=made, values=array.astype(np.int64), channel=channel, possible=np.ones(array.shape, bool), total=total
    )


def of_block(block: Block, names: Sequence[str]) -> Observed:
    law = block.law
    axes = block.space.axes
    keep = [k for k, axis in enumerate(axes) if axis.name in names]
    over = tuple(k for k in range(len(axes)) if k not in keep)
    values = block.values.reshape(block.space.shape)
    possible = np.ones(values.size, dtype=bool)
    possible[list(block.space.structural_indices)] = False
    terms = possible.reshape(values.shape).sum(axis=over) if over else possible.reshape(values.shape).astype(int)
    channel: Channel
    if isinstance(law, Kernel):
        if law.is_clamped:
            raise Unsupported(
                "Counts beyond this perturbation table are all shown alike, so no analysis of them is valid."
            )
        if over:
            raise Unsupported("A margin of values seen through a kernel has no simple law; analyse the whole table.")
        channel = Kernelled(law)
    elif isinstance(law, Censored):
        if over:
            raise Unsupported(
                f"Counts below {law.least} are shown as 0, so that sums of cells have no simple law; analyse the "
                "whole table."
            )
        channel = CensoredShift(Noise.of(law.additive), law.least)
    elif not isinstance(law, Additive):
        raise refusal(law)
    elif law.step != 1:
        raise Unsupported("This analysis is for counts; the values of this block are totals on a grid.")
    else:
        values = np.asarray(values.sum(axis=over) if over else values, dtype=np.int64)
        noises = [Noise.of(law).times(int(width)) for width in np.unique(terms[terms > 0])]
        channel = Shifted(noises[0] if noises else Noise.of(law))
        if len(noises) > 1:
            # Structural zeros leave the cells of this margin with sums of different lengths, and of different noise.
            groups = np.maximum(np.searchsorted(np.unique(terms[terms > 0]), terms), 0)
            values, channel = np.stack([values, groups], axis=-1), Grouped(tuple(noises), groups)
    kept = tuple(axes[k] for k in keep)
    return Observed(axes=kept, values=values, channel=channel, possible=np.asarray(terms > 0))


def find_table(release: Release, names: Sequence[str]) -> Table:
    """The shown table to be analysed: the first, or the smallest that has all the named axes."""
    if not names:
        return release.table
    fitting = [t for t in release.tables if set(names) <= {a.name for a in t.space.axes}]
    if not fitting:
        names_shown = sorted({a.name for t in release.tables for a in t.space.axes})
        unknown = [n for n in names if n not in names_shown]
        if unknown:
            raise UnknownName.among("axis", unknown[0], names_shown)
        raise Unsupported(f"No released table has the axes {', '.join(names)} together.", received=list(names))
    return min(fitting, key=lambda t: t.space.size)


def reorder(observation: Observed, names: Sequence[str]) -> Observed:
    """The same table with its axes in the order in which they were asked for."""
    if not names or tuple(names) == observation.names:
        return observation
    order = [observation.names.index(name) for name in names]
    channel = observation.channel
    if isinstance(channel, Grouped):
        channel = Grouped(channel.noises, np.transpose(channel.groups, order))
    rest = list(range(len(order), observation.values.ndim))
    return replace(
        observation,
        axes=tuple(observation.axes[k] for k in order),
        values=np.transpose(observation.values, [*order, *rest]),
        channel=channel,
        possible=np.transpose(observation.possible, order),
    )


def adjusted_note(release: Release) -> tuple[str, ...]:
    """What a reader must know if the shown tables are not the measured ones."""
    if isinstance(release.law, Censored):
        return (CENSORED.format(least=release.law.least),)
    names = [str(a.get("name", "adjusted")) for a in release.adjustments]
    if not names and all(t.is_unbiased for t in release.tables):
        return ()
    return (ADJUSTED.format(names=", ".join(names) or "clipped or rounded"),)


def refuse_censored(observation: object, what: str) -> None:
    """Sums, differences and shares need values that are unbiased; hidden small counts are not."""
    if isinstance(observation, Observed) and isinstance(observation.channel, CensoredShift):
        raise Unsupported(
            f"Counts below {observation.channel.least} are shown as 0, so that {what} have no valid error; tests of "
            "models and intervals of single cells use the law of what is shown."
        )


def refusal(law: object) -> Unsupported:
    if isinstance(law, Withheld):
        return Unsupported(
            f"The law of this release is withheld ({law.reason}), so no valid interval or test exists for it.",
            law="withheld",
        )
    if isinstance(law, Joint):
        return Unsupported("This block is a transform of several noisy arrays; analyse a shown table instead.")
    return Unsupported("The law of this block is not one that inference knows.")
