"""Discrete Laplace noise under the office's own name, which offers itself where a request names no noise."""

from dataclasses import dataclass
from typing import ClassVar

from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

__all__ = ["OfficeLaplace"]


@dataclass(frozen=True)
class OfficeLaplace(DiscreteLaplace):
    """P(x) proportional to exp(-rate |x|)."""

    name: ClassVar[str] = "office_laplace"
