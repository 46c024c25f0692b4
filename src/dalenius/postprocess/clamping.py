"""Each shown value on its own brought into a declared range; margins no longer add up."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dalenius.core.release import Release
from dalenius.errors import ParameterError
from dalenius.postprocess._moved import moved


@dataclass(frozen=True)
class Clamping:
    """Cut shown values at declared bounds."""

    lower: float = 0.0
    upper: float = inf
    name: ClassVar[str] = "clamping"

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ParameterError("lower must not exceed upper.")

    @classmethod
    def examples(cls, release: Release) -> "tuple[Clamping, ...]":
        return (cls(), cls(lower=1.0, upper=8.0))

    def __call__(self, release: Release) -> Release:
        return moved(
            release,
            [np.clip(table.values, self.lower, self.upper) for table in release.tables],
            name=self.name,
            lower=None if self.lower == -inf else self.lower,
            upper=None if self.upper == inf else self.upper,
            intervals="from the measured blocks, cut at the declared bounds",
        )
