"""Parameters that several questions take, spelled alike everywhere: types of the functions that answer them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from dalenius.core.release import Release
from dalenius.inference.question import Hint

Cells = Mapping[str, tuple[str, ...]]
ALL: Cells = MappingProxyType({})

_AXIS = Hint(help="An axis of the table; repeat for each.", options=("--axis", "-a"), key="table")
AxisName = Annotated[str, _AXIS]
"""Of a function of `*axes`."""
Axes = Annotated[tuple[str, ...], _AXIS]
_CELLS = "axis=label of the {} cells, or axis=label..label for a range; repeat for each. All if left out."
_FIRST, _SECOND = (Hint(help=_CELLS.format(n), options=(f"--{n}",), key=n) for n in ("first", "second"))
First = Annotated[Mapping[str, str | Sequence[str]], _FIRST]
Second = Annotated[Mapping[str, str | Sequence[str]], _SECOND]
Other = Annotated[
    Mapping[str, str | Sequence[str]],
    Hint(
        help="axis=label of the second cells, or axis=label..label for a range; repeat for each. All if left out; "
        "those of the first where another release is named.",
        options=("--second",),
        key="second",
    ),
]
Cell = Annotated[Cells, Hint(help="axis=label of the cell; repeat for each axis.")]
Against = Annotated[
    Release | None, Hint(help="Another release, such as that of a later wave, from which the second cells are taken.")
]
By = Annotated[
    str,
    Hint(
        help="An axis: each label of it in both releases, or every pair of its labels. Intervals hold together "
        "(Bonferroni), and p-values are adjusted (Holm)."
    ),
]
Samples = Annotated[
    str,
    Hint(
        help="Whether units may be in both samples: overlapping, or independent.",
        choices=("overlapping", "independent"),
    ),
]


def _test(words: str, *choices: str) -> Hint:
    return Hint(help=words, choices=choices, options=("--method",), key="test")


Test = Annotated[str, _test("monte-carlo, asymptotic or chi-square.", "monte-carlo", "asymptotic", "chi-square")]
NestedTest = Annotated[str, _test("monte-carlo, or asymptotic where that is safe.", "monte-carlo", "asymptotic")]
Alternative = Annotated[str, Hint(help="two-sided, greater or less.", choices=("two-sided", "greater", "less"))]
KindName = Annotated[
    str, Hint(help="population (noise only) or parameter (noise and sampling).", choices=("population", "parameter"))
]
Replicates = Annotated[int, Hint(least=19, most=100_000, help="Simulated measurements.")]
Seed = Annotated[int, Hint(help="The same seed gives the same answer.", least=0, most=2**32)]
Confidence = Annotated[float, Hint(least=0.001, most=0.99999, help="Level of the intervals.")]

COUNTS = "Counts are independent and Poisson, or multinomial where the total is public."
COMPARED = "Two samples may have units in common, unless they are said to be independent."
POPULATION = "Nothing more for population values; independent Poisson counts for parameters."
