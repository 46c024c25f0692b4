"""Dwork & Smith (2010), Differential privacy for statistics: Figure 1, the estimator T*, with Lemmas 10 and 11.

The figure draws a construction and prints no number, so its two claims are computed. The model is the exponential
distribution with rate theta in [1/2, 4]: its maximum likelihood estimate is biased, the corrected one (t - 1) / sum is
exactly unbiased, and its moments, cut to the parameter space as privacy demands, are integrals over one gamma law.
`ours` is n I(theta) E(T* - theta)^2, which is 1 for an efficient estimator; nothing is simulated.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import sqrt
from pathlib import Path

from dalenius_lab.reproductions.items import Row, pyplot, row, save

LOW, HIGH, RATE = 0.5, 4.0, 1.0
DIAMETER = HIGH - LOW
SIZES = (10**3, 10**6, 10**9, 10**12, 10**15)
EPSILON = 0.5
_THIRD = Fraction(1, 3)
_GRID = (Fraction(0), _THIRD, Fraction(1))


def cut_moments(size: int) -> tuple[float, float]:
    """Mean and variance of one block's corrected estimate, cut to the parameter space."""
    import numpy as np
    from scipy.stats import gamma

    total = gamma(size, scale=1 / RATE)
    ends = [(size - 1) / HIGH, (size - 1) / LOW]
    # The ends are where the estimate is cut; between them the integrals of 1 / s and 1 / s^2 are gamma laws again.
    below, above = float(total.cdf(ends[0])), float(total.sf(ends[1]))
    inside = [float(np.diff(gamma(size - power, scale=1 / RATE).cdf(ends))[0]) for power in (1, 2)]
    mean = HIGH * below + LOW * above + RATE * inside[0]
    square = HIGH**2 * below + LOW**2 * above + RATE**2 * inside[1] * (size - 1) / (size - 2)
    return mean, square - mean**2


def relative_error(n: int, blocks: int, epsilon: float) -> float:
    """n I(theta) E(T* - theta)^2 with so many blocks; I(theta) = 1 / theta^2."""
    mean, variance = cut_moments(n // blocks)
    noise = 2 * (DIAMETER / (blocks * epsilon)) ** 2
    return n / RATE**2 * (variance / blocks + (mean - RATE) ** 2 + noise)


def largest_change(size: int = 2, blocks: int = 3) -> Fraction:
    """Largest change of the average of block means in [0, 1] when one record is replaced, over all tiny data sets."""
    n, worst = size * blocks, Fraction(0)
    for data in combinations_with_replacement(_GRID, n):
        for place in range(n):
            for other in _GRID:
                changed = (*data[:place], other, *data[place + 1 :])
                worst = max(worst, abs(_average(data, size) - _average(changed, size)))
    return worst


def _average(data: tuple[Fraction, ...], size: int) -> Fraction:
    """The average of the blocks' largest values: an estimate as sensitive as its range allows."""
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return sum((max(part) for part in parts), Fraction(0)) / len(parts)


def figure1(full: bool = False) -> list[Row]:
    """The claims that the figure illustrates, at sizes from a thousand on; the way to 1 is long."""
    rows = [row("Lemma 10: one record moves the average by at most diameter / k", True, largest_change() <= _THIRD)]
    rows.append(row("diameter / k is reached, so that the noise is not too wide", None, float(largest_change())))
    step = "step 6: (1 / 2 lambda) exp(y / lambda) is a density"
    rows.append(row(step, True, False, corrected=True, verdict="misprint"))
    between = [relative_error(n, round(n**0.6), EPSILON) for n in SIZES]
    for n, ratio in zip(SIZES, between, strict=True):
        rows.append(
            row(f"n = {n:,}, k = n^0.6, epsilon = {EPSILON}: squared error beside the efficient one", None, ratio)
        )
    # The excess over 1 is of the order n^(-1/5): a thousandfold n makes it four times as small, and no faster.
    falls = all(3 < (a - 1) / (b - 1) < 5 for a, b in pairwise(between)) and between[-1] < 1.2
    rows.append(row("Lemma 11: with k between n^(1/2) and n^(2/3) it tends to 1", True, falls))
    few = [relative_error(n, round(n**0.4), EPSILON) for n in SIZES]
    rows.append(row("with k = n^0.4 it does not", None, few[-1]))
    weak = [relative_error(n, round(n**0.6), 1 / sqrt(n)) for n in SIZES]
    rows.append(row("with epsilon = 1 / sqrt(n) it does not", None, weak[-1]))
    return rows


def _draw(directory: Path, full: bool) -> Path:
    figure, axis = pyplot().subplots(figsize=(7, 4.5))
    for power in (0.4, 0.5, 0.6, 0.65):
        ratios = [relative_error(n, round(n**power), EPSILON) for n in SIZES]
        axis.loglog(SIZES, ratios, marker="o", label=f"k = n^{power}")
    axis.axhline(1, color="grey")
    axis.set_xlabel("n")
    axis.set_ylabel("squared error beside the efficient one")
    axis.legend()
    return save(figure, directory, "dps.figure1")


PLOTS = {"dps.figure1": _draw}
