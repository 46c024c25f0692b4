"""How far a weighted sum of noisy counts can be off by chance, with the sampling error of a rank or without.

The law of b #{x < y} - a n, q = a / b, is that of whole numbers, computed from the characteristic function by one
Fourier transform; on a coarser grid where it is wide, and then rounded outwards by a step.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, pi, sqrt

import numpy as np
import numpy.typing as npt

from dalenius.core.law import Additive, FloatArray

ComplexArray = npt.NDArray[np.complex128]

_GRID = 4096
# Standard deviations that fit on either side of the middle of the grid.
_WIDE = 24
_LEFT_OUT = 1e-15
# Above this variance a discrete Gaussian is a normal law up to rounding.
_SMOOTH = 8.0
# Above this variance a law that has to be listed is first rounded to a fine part of a step.
_LISTED = 10_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The rank of a share a / b in a sample of so many records; rows of one unit may be alike, up to `rows` of them.

    `is_upper` says that the size is the upper end of a number that was released: there may be fewer records. Where
    records count by weights there is a normal law in place of the binomial one, of variance `squares`: the sum of what
    each of them may move b times the rank, squared.
    """

    a: int
    b: int
    size: int = 0
    rows: int = 1
    is_upper: bool = False
    squares: float = 0.0

    @property
    def variance(self) -> float:
        """Of b times the rank."""
        return self.rows * (self.squares + self.size * self.a * (self.b - self.a))

    @property
    def is_normal(self) -> bool:
        return self.rows > 1 or self.squares > 0


@lru_cache(maxsize=65536)
def reaches(law: Additive, below: int, above: int, rank: Rank, tail: float) -> tuple[float, float]:
    """(down, up): how far the noise and the rank together fall short, and exceed, with probability at most `tail` each.

    P(sum <= -down) <= tail and P(sum >= up) <= tail, in parts of a record. A size of 0 stands for the noise alone.
    """
    step, masses = _masses(law, below, above, rank)
    middle = len(masses) // 2
    # From the far end inwards, so that small sums keep their digits.
    lower = np.cumsum(masses)
    upper = np.cumsum(masses[::-1])[::-1]
    down = middle - (int(np.searchsorted(lower, tail, side="right")) - 1)
    up = len(masses) - int(np.searchsorted(upper[::-1], tail, side="right")) - middle
    # Quantiles of binomial laws rise with the number of records but for less than one record at a time.
    slack = rank.b if rank.is_upper and rank.size and not rank.is_normal else 0
    # All draws that were rounded to parts of a step are off by half a step together.
    slack += step if _is_rounded(law) else 0
    return float(step * down + slack), float(step * up + slack)


def _masses(law: Additive, below: int, above: int, rank: Rank) -> tuple[int, FloatArray]:
    """The size of a step of the grid, and probabilities of its points, zero in the middle."""
    noise = float(law.noise.variance)
    variance = noise * (below * (rank.b - rank.a) ** 2 + above * rank.a**2) + rank.variance
    mean = float(law.noise.mean) * (below * (rank.b - rank.a) - above * rank.a)
    step = max(1, ceil((2 * _WIDE * sqrt(variance) + 2 * abs(mean)) / _GRID))
    whole = _turned_noise(law, below, above, rank.a, rank.b, step)
    if rank.variance:
        whole = whole * _turned_rank(rank, step)
    masses = np.fft.fftshift(np.fft.irfft(np.conj(whole), _GRID))
    return step, np.maximum(masses, 0.0)


def _turns(step: int) -> FloatArray:
    return np.asarray(2 * pi * np.arange(_GRID // 2 + 1) / (_GRID * step))


# The cells of a table differ in their size and share the noise: its powers are kept from one size to the next.
@lru_cache(maxsize=512)
def _turned_noise(law: Additive, below: int, above: int, a: int, b: int, step: int) -> ComplexArray:
    """Characteristic function of the noise of all parts."""
    finer = 1 << (below + above - 1).bit_length()
    return np.asarray(_turned(law, b - a, step, finer) ** below * _turned(law, -a, step, finer) ** above)


@lru_cache(maxsize=64)
def _turned_rank(rank: Rank, step: int) -> ComplexArray:
    """Characteristic function of b Binomial(n, q) - a n; of a normal number where rows of one unit may be alike, or
    count by weights.
    """
    turns = _turns(step)
    if rank.is_normal:
        return np.exp(-rank.variance * turns * turns / 2).astype(np.complex128)
    q = rank.a / rank.b
    one = (1 - q) * np.exp(-1j * rank.a * turns) + q * np.exp(1j * (rank.b - rank.a) * turns)
    return np.asarray(one**rank.size, dtype=np.complex128)


def _is_rounded(law: Additive) -> bool:
    """Whether the law has no closed form here, and too many points to turn one by one."""
    return float(law.noise.variance) > _LISTED and _turned_closed(law, 1, 1) is None


@lru_cache(maxsize=64)
def _turned(law: Additive, times: int, step: int, finer: int) -> ComplexArray:
    """Characteristic function of one draw of noise, so many times; a wide law is rounded to `finer` parts of a step."""
    closed = _turned_closed(law, times, step)
    if closed is not None:
        return closed
    if _is_rounded(law):
        return _turned_rounded(law, times, step, finer)
    points, chances = law.central(_LEFT_OUT)
    return np.asarray(np.exp(1j * np.outer(times * _turns(step), points)) @ chances, dtype=np.complex128)


def _turned_closed(law: Additive, times: int, step: int) -> ComplexArray | None:
    noise, variance, turns = law.noise, float(law.noise.variance), times * _turns(step)
    if noise.name == "discrete_laplace":
        return (1 / (1 + 2 * variance * np.sin(turns / 2) ** 2)).astype(np.complex128)
    if noise.name == "discrete_gaussian" and variance > _SMOOTH:
        # By Poisson's sum one normal factor a turn; its neighbours are below exp(-4 pi^2).
        near = np.remainder(turns + pi, 2 * pi) - pi
        return np.exp(-variance * near * near / 2).astype(np.complex128)
    return None


def _turned_rounded(law: Additive, times: int, step: int, finer: int) -> ComplexArray:
    """As above, each draw as the nearest multiple of step / (times finer): its chance is that of a range."""
    width = step / (abs(times) * finer)
    low, high = (round(law.quantile(p) / width) for p in (_LEFT_OUT, 1 - _LEFT_OUT))
    places = np.arange(low, high + 1)
    chances = np.diff(law.cdf(np.floor((places + 0.5) * width).astype(np.int64)), prepend=0.0)
    size = _GRID * finer
    turned = np.fft.rfft(np.bincount(places % size, chances, size))[: _GRID // 2 + 1]
    return np.asarray(np.conj(turned) if times > 0 else turned, dtype=np.complex128)
