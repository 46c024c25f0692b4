"""The law of real Laplace or normal noise that is rounded to a whole number: what noise of a withheld scale is."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dalenius.core.law import FloatArray, IntArray


@dataclass(frozen=True)
class RoundedNoise:
    """round(scale * Z), Z of unit scale."""

    scale: Fraction
    is_normal: bool = False
    support: ClassVar[tuple[None, None]] = (None, None)

    def log_pmf(self, k: IntArray) -> FloatArray:
        """log P(noise = k), from the upper tails beside |k|."""
        from scipy.special import log_ndtr

        near, far = ((np.abs(k) + side) / float(self.scale) for side in (-0.5, 0.5))
        if self.is_normal:
            logs = [log_ndtr(-z) for z in (near, far)]
        else:
            logs = [np.where(z < 0, np.log1p(-np.exp(-np.abs(z)) / 2), -z - np.log(2)) for z in (near, far)]
        return np.asarray(logs[0] + np.log(-np.expm1(logs[1] - logs[0])))
