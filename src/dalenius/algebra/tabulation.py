"""A released table as rows: one column per variable, then value, std_error, lower, upper, status.

Where the error of sampling was estimated, the three columns `…_with_sampling` stand before the status.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import isnan
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra import lattice, thinned
from dalenius.algebra.estimates import estimated, is_estimate
from dalenius.algebra.estimator import ROWS
from dalenius.algebra.intervals import Estimated
from dalenius.algebra.listed import LISTS, estimates_of_lists, is_list_of_estimates, margins_of
from dalenius.core.domain import CellSpace
from dalenius.core.law import (
    WEIGHTED_LIST,
    Additive,
    Censored,
    FloatArray,
    IntArray,
    Joint,
    Kernel,
    Law,
    Thinned,
    law_from_dict,
)
from dalenius.core.release import ADDITIVE, INTERQUARTILE, POSSIBLE, SELECTION, SHOWN_FROM, Block, Release, Table
from dalenius.errors import DaleniusError, ParameterError, RequestError
from dalenius.rendering import in_words

# Adjustments that move shown values without saying that they are biased.
_MOVING = ("anchor", "invariants")
COLUMNS = ("value", "std_error", "lower", "upper", "status")
CARE, UNRELIABLE = "care", "unreliable"
CARE_ABOVE, UNRELIABLE_ABOVE = 1 / 6, 1 / 3
Marks = np.ndarray[Any, np.dtype[np.str_]]
SAMPLED = ("std_error_with_sampling", "lower_with_sampling", "upper_with_sampling")


def is_listed(law: Law) -> bool:
    """Whether what is shown combines two lists of margins, so that its cells share noise."""
    return isinstance(law, Joint) and law.structure in (LISTS, WEIGHTED_LIST)


def bounds(
    release: Release, table: Table, confidence: float = 0.95, *, is_cut: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for the population value of each cell (privacy noise only), NaN where withheld.

    A table that shows one measured block has exact ends from the law of its noise. One that combines blocks has ends at
    its exact variance: normal, or as far as one Laplace draw where blocks have Laplace noise. Counts are never
    negative, so the lower end is cut at zero, which keeps the coverage; an upper end below zero is raised to zero. Ends
    are not cut at what is possible where `is_cut` is false.
    """
    release = release.owner(table)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie between 0 and 1; received {confidence!r}.", name="confidence")
    made = estimate_of(release, table)
    if made is not None:
        return _estimate_ends(made, table, confidence, is_sampling=False)
    if table.measure == INTERQUARTILE:
        return _distance_ends(release, table, confidence, is_sampling=False)
    is_adjusted = not table.is_unbiased or any(a.get("name") in _MOVING for a in release.adjustments)
    law: Law | None = law_of_block(release.blocks, table)
    block = _block_of(release.blocks, table)
    centre = table.values
    if isinstance(release.law, Censored):
        return _possible(table, *release.law.ends(table.values, confidence))
    if isinstance(release.law, Kernel):
        # An adjustment may have moved what is shown.
        through = table.values if block is None else block.values.astype(np.float64)
        return _possible(table, *release.law.ends(through, confidence))
    if isinstance(release.law, Thinned) and block is not None:
        # Sums of such cells have normal ends, as those of combined blocks.
        return _possible(table, *thinned.ends(release.law, block.values, confidence))
    hidden = next((a for a in release.adjustments if a.get("name") == SHOWN_FROM), None)
    if hidden is not None:
        return _possible(table, *_rounded_ends(table, int(hidden["least"]), confidence))
    if table.measure in ADDITIVE and is_adjusted:
        centre, law = _measured(release, table)
    if isinstance(law, Additive):
        half = np.full(table.values.shape, law.half_width(confidence) * float(law.step))
        half[list(table.space.structural_indices)] = 0.0
    else:
        from dalenius.algebra.joint import reach

        laws = [block.law for block in release.blocks]
        half = reach(laws, confidence) * table.std_error
        if table.measure == "count":
            blocks, is_sum = _counting(release)
            half = lattice.half_widths(blocks, table, confidence, half, is_sum=is_sum)
    lower, upper = centre - half, centre + half
    if not is_cut:
        return lower, upper
    if table.measure == "count":
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    for note in release.adjustments:
        if note.get("name") == POSSIBLE and note.get("table") == table.name:
            lower, upper = (np.clip(end, note["lower"], note["upper"]) for end in (lower, upper))
    return lower, upper


def _counting(release: Release) -> tuple[tuple[Block, ...], bool]:
    """The blocks of which counts are made, and whether nothing else is known of them; none where they are no sums."""
    from dalenius.algebra.joint import is_combined

    law, blocks = release.law, release.blocks
    if not isinstance(law, Joint):
        return (), False
    if law.structure == LISTS:
        first = law.parameters["lists"][0]
        law, blocks = law_from_dict(first["law"]), blocks[: int(first["blocks"])]
    if isinstance(law, Joint) and is_combined(law):
        # Impossible cells have draws of their own, so that knowing them takes these out of sums and no more.
        return blocks, law.parameters.get("total") is None
    sums = law.parameters.get("sums") if isinstance(law, Joint) and is_estimate(law) else None
    is_plain = isinstance(sums, Mapping) and set(sums.get(ROWS, {}).values()) == {"1"}
    return (blocks[:1], True) if is_plain else ((), False)


def _block_of(blocks: Sequence[Block], table: Table) -> Block | None:
    """The measured block that a table shows, cell by cell."""
    return next((b for b in blocks if b.name == table.name and b.space.shape == table.shape), None)


def sampled_bounds(release: Release, table: Table, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Ends for the process behind each cell (privacy noise and sampling), NaN where it was not estimated."""
    release = release.owner(table)
    is_listed = isinstance(release.law, Joint) and release.law.structure == WEIGHTED_LIST
    if table.sampled is not None and is_listed:
        half = NormalDist().inv_cdf(0.5 + confidence / 2) * table.std_error_with_sampling
        return np.maximum(table.values - half, 0.0), np.maximum(table.values + half, 0.0)
    if table.sampled is None or not (is_estimate(release.law) or is_list_of_estimates(release.law)):
        return np.full(table.values.shape, np.nan), np.full(table.values.shape, np.nan)
    if table.measure == INTERQUARTILE:
        return _distance_ends(release, table, confidence, is_sampling=True)
    made = estimate_of(release, table)
    if made is None:
        half = NormalDist().inv_cdf(0.5 + confidence / 2) * table.std_error_with_sampling
        return table.values - half, table.values + half
    return _estimate_ends(made, table, confidence, is_sampling=True)


Ends = tuple[FloatArray, FloatArray, FloatArray]


def intervals(release: Release, table: Table, confidence: float) -> tuple[Ends, Ends]:
    """Half-width, lower and upper end of each number, for the noise alone and with sampling; NaN where not known.

    Half the width reaches to the farther end. Nothing is known where numbers were moved to agree with others.
    """
    if any(adjustment.get("name") == "anchor" for adjustment in release.adjustments):
        nothing = np.full(table.values.shape, np.nan)
        return (nothing,) * 3, (nothing,) * 3
    loose, sampled = bounds(release, table, confidence, is_cut=False), sampled_bounds(release, table, confidence)
    halves = [np.maximum(upper - table.values, table.values - lower) for lower, upper in (loose, sampled)]
    return (halves[0], *bounds(release, table, confidence)), (halves[1], *sampled)


def reliability(values: FloatArray, errors: FloatArray) -> Marks:
    """Marks by the coefficient of variation; none without an error.

    >>> reliability(np.array([100, 100, 100, -3, 0]), np.array([10, 20, 50, 2, 0])).tolist()
    ['', 'care', 'unreliable', 'unreliable', '']
    >>> reliability(np.array([100, -3]), np.array([np.nan, np.inf])).tolist()
    ['', '']
    """
    is_known = np.isfinite(errors) & (errors > 0)
    limits = ((UNRELIABLE_ABOVE, UNRELIABLE), (CARE_ABOVE, CARE))
    judged = [is_known & ((values <= 0) | (errors > share * values)) for share, _ in limits]
    found: Marks = np.select(judged, [mark for _, mark in limits], "")
    return found


def marks(table: Table, errors: Iterable[Ends], shown: FloatArray | None = None) -> Marks:
    """The mark of every cell of a table; `shown` are the numbers that readers see in the place of its own.

    A number whose interval holds 0 is unreliable, whatever it measures.
    """
    values = table.values if shown is None else shown.ravel()
    (noise, *_), *_ = errors = list(errors)
    judged = np.where(np.isfinite(noise) & (table.measure in ADDITIVE), table.std_error, np.nan)
    # A count below zero is noise; totals are judged by their size.
    words = reliability(values if table.measure == "count" else abs(values), judged)
    for half, lower, upper in errors:
        wide = half + abs(values - table.values)
        words[(wide > 0) & ((abs(values) <= wide) | ((lower <= 0) & (upper >= 0)))] = UNRELIABLE
    words[list(table.space.structural_indices)] = ""
    return words


def estimate_of(release: Release, table: Table) -> Estimated | None:
    """The estimates that a table shows, from the measured blocks; None where it shows something else."""
    names = [each.name for each in release.tables]
    if not isinstance(release.law, Joint) or table.name not in names:
        return None
    place = names.index(table.name)
    if is_estimate(release.law):
        return estimated(release.law, release.blocks, table.space.size) if place == 0 else None
    if release.law.structure != LISTS or place >= margins_of(release.law):
        return None
    return estimates_of_lists(release.law, release.blocks)[place]


def _distance_ends(
    release: Release, table: Table, confidence: float, *, is_sampling: bool
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest distance of two quartiles inside their own intervals, each of half the error."""
    first = release.tables[0]
    made = estimate_of(release, first)
    assert made is not None
    both = _estimate_ends(made, first, (1 + confidence) / 2, is_sampling=is_sampling)
    shares = [Fraction(label) for label in first.space.axes[-1].labels]
    low, high = (shares.index(Fraction(k, 4)) for k in (1, 3))
    lower, upper = (end.reshape(-1, len(shares)) for end in both)
    return np.maximum(lower[:, high] - upper[:, low], 0.0), upper[:, high] - lower[:, low]


def _estimate_ends(
    made: Estimated, table: Table, confidence: float, *, is_sampling: bool
) -> tuple[FloatArray, FloatArray]:
    """From the measured blocks; the same for every product that shows them."""
    ends = (np.broadcast_to(end, table.values.shape) for end in made.ends(confidence, is_sampling))
    zeros = list(table.space.structural_indices)
    lower, upper = (np.array(end, dtype=np.float64) for end in ends)
    lower[zeros], upper[zeros] = np.nan, np.nan
    return lower, upper


def _possible(table: Table, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A cell that is declared impossible holds nobody."""
    zeros = list(table.space.structural_indices)
    lower[zeros], upper[zeros] = 0.0, 0.0
    return lower, upper


def _rounded_ends(table: Table, least: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Whole counts that are shown from `least` on: normal ends, wider by the half that rounding may take."""
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * table.std_error + 0.5
    is_shown = table.values >= least
    lower = np.where(is_shown, np.maximum(table.values - half, 0.0), 0.0)
    return lower, np.where(is_shown, table.values + half, least - 1 + half)


def _measured(release: Release, table: Table) -> tuple[FloatArray, Law | None]:
    """Measured values behind an adjusted table, and their law; NaN where they cannot be rebuilt.

    An adjustment moves what is shown, not what was measured: a valid interval is the measured one.
    """
    block = _block_of(release.blocks, table)
    if block is not None and block.role == "table" and isinstance(block.law, Additive):
        return block.values.astype(np.float64) * float(block.law.step), block.law
    if release.is_joint:
        from dalenius.algebra import joint

        try:
            rebuilt = joint.linear_map(release, table)([block.values for block in release.blocks])
            return np.asarray(rebuilt, dtype=np.float64), None
        except DaleniusError:
            pass
    return np.full(table.values.shape, np.nan), None


def law_of_block(blocks: Sequence[Block], table: Table) -> Additive | None:
    """The law of the block that a table shows unchanged: the same cells, each with the variance of one draw."""
    block = _block_of(blocks, table)
    if block is None or block.role != "table" or not isinstance(block.law, Additive):
        return None
    drawn = np.delete(table.variance, list(table.space.structural_indices))
    return block.law if np.allclose(drawn, block.law.variance, rtol=1e-9) else None


def margin(release: Release, *names: str, measure: str = "") -> Table:
    """The table over some of the axes: as published if it was, otherwise the sum of the finest table.

    `measure` names one of several that a release shows. Summed cells carry independent noise, so their variances add.
    """
    tables = [table for table in release.tables if measure in ("", table.measure)]
    for table in tables:
        if {axis.name for axis in table.space.axes} == set(names):
            return table
    source = next((t for t in tables if set(names) <= {a.name for a in t.space.axes}), None)
    if source is not None and source.measure not in ADDITIVE:
        raise RequestError(f"A {source.measure} does not add up; ask for the margin as a table of its own.")
    if source is None or release.is_joint:
        raise RequestError(
            f"No published table can be summed to {' x '.join(names) or 'the total'}.",
            received=list(names),
            available=[[a.name for a in t.space.axes] for t in release.tables],
        )
    drop = tuple(i for i, axis in enumerate(source.space.axes) if axis.name not in names)
    return Table(
        name="margin: " + (" x ".join(names) or "total"),
        space=source.space.margin(names),
        values=source.values.reshape(source.shape).sum(axis=drop).ravel(),
        variance=source.variance.reshape(source.shape).sum(axis=drop).ravel(),
        measure=source.measure,
        is_unbiased=source.is_unbiased,
    )


def rows(release: Release, table: Table, confidence: float = 0.95) -> Iterator[tuple[object, ...]]:
    """Labels and columns of every cell, in the order in which the axes were asked for."""
    structural = set(table.space.structural_indices)
    order = release.asked_order(table)
    places = cells_in_order(table.space, order)
    cells = product(*(table.space.axes[axis].labels for axis in order))
    numbers = zip(*(tidy_list(c[places]) for c in number_columns(release, table, confidence)), strict=True)
    for i, labels, row in zip(places.tolist(), cells, numbers, strict=True):
        yield (*labels, *row, status(table, i in structural, row[1]))


def cells_in_order(space: CellSpace, order: Sequence[int]) -> IntArray:
    """Places of the cells of a space whose axes stand in another order."""
    places = np.arange(space.size).reshape(space.shape)
    return np.asarray(places.transpose(order).ravel(), dtype=np.int64)


def number_columns(
    release: Release, table: Table, confidence: float = 0.95, *, has_sampling: bool | None = None
) -> list[FloatArray]:
    """Value, standard error and ends of every cell; with the columns of sampling where table or file has them."""
    numbers = [table.values, table.std_error, *bounds(release, table, confidence)]
    if table.sampled is not None if has_sampling is None else has_sampling:
        numbers += [table.std_error_with_sampling, *sampled_bounds(release, table, confidence)]
    return numbers


def columns_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """Names of the columns of numbers and of the status."""
    more = SAMPLED if any(table.sampled is not None for table in tables) else ()
    return (*COLUMNS[:-1], *more, COLUMNS[-1])


def columns(release: Release, table: Table, confidence: float = 0.95) -> dict[str, list[object]]:
    """The same as one list a column, under the names of `header`."""
    space = CellSpace(tuple(table.space.axes[axis] for axis in release.asked_order(table)))
    heads = header(space, columns_of([table]))
    lines = list(zip(*rows(release, table, confidence), strict=True)) or [()] * len(heads)
    return dict(zip(heads, map(list, lines), strict=True))


def plain_columns(table: Table) -> dict[str, list[object]]:
    """What a table knows without its release: labels, value, std_error and status."""
    structural = set(table.space.structural_indices)
    values, errors = tidy_list(table.values), tidy_list(table.std_error)
    labels = [list(column) for column in zip(*table.space.labels(), strict=True)]
    states = [status(table, i in structural, error) for i, error in enumerate(errors)]
    heads = [name for name in header(table.space) if name not in ("lower", "upper")]
    return dict(zip(heads, [*labels, values, errors, states], strict=True))


def errors_in_words(table: Table) -> str:
    """The standard error of a table's cells, or its range.

    >>> from dalenius.core.domain import Axis
    >>> space = CellSpace((Axis(variable="v", labels=("a", "b")),))
    >>> errors_in_words(Table(name="v", space=space, values=np.array([3.0, 4.0]), variance=np.array([4.0, 9.0])))
    'standard errors 2 to 3'
    """
    drawn = np.delete(table.std_error, list(table.space.structural_indices))
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return "standard error withheld"
    low, high = (in_words(tidy(float(end))) for end in (finite.min(), finite.max()))
    return f"standard error {low}" if low == high else f"standard errors {low} to {high}"


def status(table: Table, is_structural: bool, error: object) -> str:
    """What a reader must know of a cell; a missing error is a withheld one."""
    if table.measure == SELECTION:
        return "selected"
    if is_structural:
        return "structural zero"
    return "error withheld" if error is None else "released"


def tidy(value: float) -> object:
    """Integers without a decimal point, missing numbers as None."""
    if isnan(value):
        return None
    return int(value) if float(value).is_integer() else value


def tidy_list(values: FloatArray) -> list[object]:
    # Numbers beyond 64 bits (the variance of a total of large values) are whole too, and take the slower way.
    if len(values) and np.all(np.abs(values) < 2.0**62) and np.all(values == np.rint(values)):
        whole: list[object] = values.astype(np.int64).tolist()
        return whole
    return [tidy(v) for v in values.tolist()]


def header(space: CellSpace, columns: tuple[str, ...] = COLUMNS) -> tuple[str, ...]:
    """Column names of `rows`, each once: an axis that is called like a column of numbers is told apart.

    >>> from dalenius.core.domain import Axis
    >>> header(CellSpace((Axis(variable="status", labels=("a",)), Axis(variable="age", labels=("b",)))))
    ('status_category', 'age', 'value', 'std_error', 'lower', 'upper', 'status')
    """
    names: list[str] = list(columns)
    for axis in space.axes:
        name = axis.name
        while name in names:
            name += "_category"
        names.append(name)
    return (*names[len(columns) :], *columns)
