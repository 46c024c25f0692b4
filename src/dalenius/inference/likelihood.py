"""Likelihood of Poisson counts that are seen through a channel: value, score, information, posterior moments.

Formulas: docs/reference/inference/likelihood.md. Everything runs in log space, vectorised over cells, with the windows
of P(x | a) computed once for each distinct released value.
"""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from dalenius.core.law import FloatArray, IntArray
from dalenius.inference.channel import Channel

SMALLEST_MEAN = 1e-13
INFORMATION_FLOOR = 0.02
_CHUNK = 4_000_000


class Moments(NamedTuple):
    """Log-likelihood, posterior mean minus mu, and posterior variance of each cell."""

    log_likelihood: FloatArray
    residual: FloatArray
    variance: FloatArray

    def information(self, mean: FloatArray) -> FloatArray:
        """mu - V, floored where it is not positive enough to steer by."""
        return np.maximum(mean - self.variance, INFORMATION_FLOOR * mean)

    def each(self, change: Callable[[FloatArray], FloatArray]) -> "Moments":
        return Moments(*map(change, self))


class CountLikelihood:
    """The likelihood of released values, as a function of their Poisson means."""

    values: IntArray

    def __init__(self, channel: Channel, values: IntArray) -> None:
        """`values` has one row for each cell (and one column for each release, if there are several)."""
        self.channel = channel
        self.values = np.asarray(values, dtype=np.int64)
        self._distinct, which = np.unique(self.values, axis=0, return_inverse=True)
        self._which = which.reshape(-1)
        self._first, self._steps, rows = channel.window(self._distinct)
        self._base = rows - gammaln(self._first[:, None] + self._steps + 1.0)

    def __call__(self, mean: FloatArray) -> Moments:
        return self.at_distinct(self._which, mean)

    def at_cells(self, cells: IntArray, mean: FloatArray) -> Moments:
        return self.at_distinct(self._which[cells], mean)

    def at_distinct(self, which: IntArray, mean: FloatArray) -> Moments:
        """At one mean for each of some positions in the sorted list of distinct values."""
        per = max(_CHUNK // self._base.shape[1], 1)
        if len(which) > per:
            parts = [self.at_distinct(which[i : i + per], mean[i : i + per]) for i in range(0, len(which), per)]
            return Moments(*map(np.concatenate, zip(*parts, strict=True)))
        mu = np.maximum(mean, SMALLEST_MEAN)
        first = self._first[which]
        steps = self._steps
        log_mu = np.log(mu)
        weights = self._base[which] + log_mu[:, None] * steps
        peak = weights.max(1)
        np.exp(weights - peak[:, None], out=weights)
        total = weights.sum(1)
        shifted = weights @ steps / total
        spread = np.maximum(weights @ (steps * steps) / total - shifted**2, 0.0)
        narrow = spread < 1e-6 * shifted**2
        if narrow.any():
            # The difference of two large numbers lost its digits: centre before squaring.
            centred = steps - shifted[narrow, None]
            spread[narrow] = (weights[narrow] * centred**2).sum(1) / total[narrow]
        log_likelihood = peak + np.log(total) + first * log_mu - mu
        return Moments(log_likelihood, first + shifted - mu, spread)

    def windows(self) -> tuple[IntArray, FloatArray]:
        """For each cell the first exact count it allows, and log P(x | a) - log a! along its window."""
        return self._first[self._which], self._base[self._which]

    @cached_property
    def saturated(self) -> tuple[FloatArray, FloatArray]:
        """Maximum-likelihood mean of each cell on its own, and its log-likelihood; solved once per distinct value."""
        mean, best = self._solve()
        return mean[self._which], best[self._which]

    def _solve(self) -> tuple[FloatArray, FloatArray]:
        """Safeguarded Newton steps on E(mu) = mu within a bracket; zero where the likelihood falls from there on."""
        every = np.arange(len(self._distinct))
        guess = self.channel.centre(self._distinct)
        reach = 10 * np.sqrt(self.channel.variance(np.maximum(guess, 0.0), self._distinct) + np.abs(guess) + 1) + 10
        mean = np.clip(guess, 0.05, None)
        empty = self.at_distinct(every, np.full(len(every), 1e-9))
        first = self.at_distinct(every, mean)
        # Unimodal in mu for every log-concave law: falling at zero, and lower at the guess, means zero is best.
        is_zero = (empty.residual <= 0) & (empty.log_likelihood >= first.log_likelihood)
        mean = np.where(is_zero, 0.0, mean)
        todo = every[~is_zero]
        low, high = np.full(len(every), 1e-9), np.maximum(guess, 0) + reach
        for _ in range(100):
            if not len(todo):
                break
            now, old = self.at_distinct(todo, mean[todo]), mean[todo]
            rising = now.residual > 0
            low[todo], high[todo] = np.where(rising, old, low[todo]), np.where(rising, high[todo], old)
            step = now.residual / np.maximum(old - now.variance, 0.05 * old)
            trial = old * np.exp(np.clip(step, -3, 3))
            inside = (trial > low[todo]) & (trial < high[todo])
            middle = np.where(low[todo] > 1e-8, (low[todo] + high[todo]) / 2, np.sqrt(low[todo] * high[todo]))
            mean[todo] = np.where(inside, trial, middle)
            todo = todo[np.abs(mean[todo] - old) > 1e-10 * (1 + old)]
        mean = np.where(mean <= 1e-6, 0.0, mean)
        return mean, self.at_distinct(every, mean).log_likelihood
