"""What noise about zero shares: its mean, its parameters, and both tails from one of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from dalenius.core.law import FloatArray, IntArray

TOO_WIDE = "This noise would leave the range of 64-bit integers; a smaller sensitivity or a larger budget is needed."


class CentredNoise:
    """A symmetric law whose parameters are the fields of a dataclass; on all integers unless it says otherwise."""

    is_symmetric: ClassVar[bool] = True
    mean: ClassVar[float] = 0.0

    @property
    def parameters(self) -> Mapping[str, Fraction | int]:
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    @property
    def support(self) -> tuple[int | None, int | None]:
        return (None, None)


class NoiseWithTails(CentredNoise, ABC):
    """A law that knows one tail in closed form."""

    def cdf(self, k: IntArray) -> FloatArray:
        k = np.asarray(k, dtype=np.int64)
        return np.where(k < 0, self._beyond(-k), 1 - self._beyond(k + 1))

    def sf(self, k: IntArray) -> FloatArray:
        return self.cdf(-np.asarray(k, dtype=np.int64) - 1)

    @abstractmethod
    def _beyond(self, distance: IntArray) -> FloatArray:
        """P(noise >= distance), distance >= 1."""
