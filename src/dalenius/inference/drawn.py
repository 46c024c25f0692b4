"""What analyses of the process behind a table assume of how its records were drawn, and which designs they refuse.

Clusters are refused: a level of 5 % would not be one. A census has no error of sampling, so that parameter intervals
are refused; tests and models speak of a process behind the persons anyway, and say so. Units with several rows spread a
count at most so many times as much as independent rows: some analyses allow for that factor, others refuse.
"""

from dataclasses import dataclass

from dalenius.core.domain import Axis
from dalenius.core.estimate import Draws
from dalenius.core.release import Release
from dalenius.errors import Unsupported

IF_INDEPENDENT = "It holds if the records were drawn independently."
IF_UNITS_INDEPENDENT = (
    "It holds if the units were drawn independently; the variance of counts is multiplied by "
    "{rows}, the rows of a unit."
)
DECLARED = "The data set declares that its records were drawn independently."
DECLARED_UNITS = (
    "The data set declares that its units were drawn independently; the variance of counts is "
    "multiplied by {rows}, the rows of a unit."
)
OF_A_CENSUS = "The data are a census: this speaks of a process of which the records would be independent draws."


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How the records of a release were drawn, and the largest number of rows of one unit."""

    draws: Draws
    rows: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SeenTable:
    """What every observed table has: axes, notes for its readers, and how its records were drawn."""

    axes: tuple[Axis, ...]
    notes: tuple[str, ...] = ()
    draws: Draws = Draws.UNSTATED
    rows: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)


def drawn_as(release: Release) -> Drawn:
    """What a release says of how its records were drawn."""
    rows = int(release.provenance.neighbours.get("max_rows", 1))
    return Drawn(draws=Draws(release.provenance.draws), rows=rows)


def condition(counts: Drawn | SeenTable) -> str:
    """What an answer about the process holds for, as a sentence."""
    if counts.draws is Draws.CENSUS:
        return OF_A_CENSUS
    is_declared = counts.draws is Draws.INDEPENDENT
    if counts.rows == 1:
        return DECLARED if is_declared else IF_INDEPENDENT
    return (DECLARED_UNITS if is_declared else IF_UNITS_INDEPENDENT).format(rows=counts.rows)


def refuse_clusters(draws: Draws) -> None:
    if draws is Draws.CLUSTERS:
        raise Unsupported(
            "The records were drawn in clusters, and this analysis is for records that were drawn independently: its "
            "errors would be too"
            " small. Ask about the population (kind = 'population'), for which the privacy noise is the only error.",
            draws=str(draws),
        )


def refuse_weights(draws: Draws) -> None:
    """Raise `Unsupported` for weighted numbers of a data set that does not say how its records were drawn."""
    if not draws.has_sampling(is_weighted=True):
        raise Unsupported(
            "With survey weights an error of sampling needs a data set that says how its records were drawn: [design] "
            "with draws = \"independent\". Ask about the population (kind = 'population').",
            draws=str(draws),
        )


def refuse_parameters(counts: Drawn | SeenTable) -> None:
    """Raise `Unsupported` where intervals with an error of sampling cannot be given."""
    refuse_clusters(counts.draws)
    if counts.draws is Draws.CENSUS:
        raise Unsupported(
            "The data are a census, which has no error of sampling. Ask about the population (kind = 'population').",
            draws=str(counts.draws),
        )


def refuse_several_rows(rows: int) -> None:
    """Raise `Unsupported` for units with several rows, where an analysis has no correction for them."""
    if rows > 1:
        raise Unsupported(
            f"A unit may have {rows} rows, which are no independent draws, and this analysis does not allow for "
            "that. Use intervals, a test"
            " of independence or a log-linear model, which do, or declare one row per person (features).",
            rows=rows,
        )
