"""Estimators: smooth functions of sums over the rows of a cell, which are all that is measured.

An estimator knows no variables, weights, margins, mechanisms or intervals, so that whatever is combined with one acts
on the sums. How errors follow from its derivatives: docs/reference/estimators/index.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

from dalenius.core.domain import Bounds

End = Fraction | str
"""An end of what a number can be: a rational, "inf" or "-inf"."""
ROWS = "1"
"""The sum to which every row adds one."""


class Scale(StrEnum):
    """On which scale the error of sampling is nearly the same everywhere."""

    PLAIN = "plain"
    LOG = "log"
    FISHER = "fisher"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class Need:
    """A sum that an estimator reads: "1", "x", "x x", "x y" are sums of such products over the rows of a cell.

    "x" and "y" are roles, not variables; values are about the middle of their declared bounds, or about zero where
    `is_raw`. "x in" is the number of rows whose x has the property that is asked about; with `classes` = 64 it stands
    for "x in 0" to "x in 63", numbers of rows in so many classes of equal width.
    """

    product: str
    is_raw: bool = False
    classes: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.product} {k}" for k in range(self.classes)) if self.classes else (self.product,)

    @property
    def roles(self) -> tuple[str, ...]:
        """Role of each factor; none for "1"."""
        return () if self.product == ROWS else tuple(self.product.removesuffix(" in").split())


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A value that is one sum over another, whose interval holds every number that the noise of both allows."""

    top: Any
    bottom: Any


def unlimited(bounds: Mapping[str, Bounds]) -> tuple[End, End]:
    return "-inf", "inf"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimator:
    """What is shown of a cell, from its sums; what each field means: docs/reference/estimators/index.md."""

    name: str
    version: int = 1
    reads: tuple[Need, ...]
    degree: Literal[0, 1]
    value: Callable[[Any], Any]
    units: Mapping[str, int] = field(default_factory=dict)
    is_location: bool = False
    scale: Scale = Scale.PLAIN
    guards: Callable[[Any], tuple[Any, ...]] = lambda sums: ()
    least: float | None = None
    limits: Callable[[Mapping[str, Bounds]], tuple[End, End]] = unlimited
    clip: tuple[float, float] | None = None
    spread: Callable[[Any, Any], tuple[Any, Any] | None] | None = None
    spread_share: Fraction = Fraction(1, 6)
    cuts_bias: bool = False
    is_root: bool = False
    rows_below: int = 0

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the variables, "x" first."""
        return tuple(sorted({role for need in self.reads for role in need.roles if role in ("x", "y")}))

    @property
    def counts_rows(self) -> bool:
        """Whether the number of rows is among the sums."""
        return any(need.product == ROWS for need in self.reads)
