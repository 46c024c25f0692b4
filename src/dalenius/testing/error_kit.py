"""The kit that judges errors: intervals, standard errors, previews and limits of every example of every method.

Bounds were written before the first run; what each judgement is, and what a method cannot keep:
docs/decisions/0012-kits-judge-errors.md. A listed judgement that is kept is an error, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.algebra.estimates import is_certified
from dalenius.algebra.tabulation import bounds
from dalenius.core.law import Additive, FloatArray, Joint, Withheld
from dalenius.core.plan import margin_of_error
from dalenius.core.release import Block, Release, Table
from dalenius.spec.method import Method
from dalenius.testing import error_worlds
from dalenius.testing.error_worlds import EVEN, KINDS, REPLICATE, WORLDS
from dalenius.testing.simulated import (
    CONFIDENCE,
    QUICK,
    ReplicatedExample,
    Request,
    SimulatedRelease,
    SimulatedTable,
    SimulationEffort,
    in_world,
    plan,
    run,
    shown,
    silenced,
)

MISSED, LEVEL = 0.035, 0.0005
RATIO = (0.85, 1.2)
"""Of stated to observed variance, and of planned to released margin."""
REACH = 3.9
"""Standard errors that an estimate exceeds to one side once in 20,000 times."""
GRADIENT = (0.97, 1.03)
FEWEST = 0.5
NARROW = 0.9
"""An interval in a cell without a truth is at least so much of an ordinary one."""
FEW_CELLS = 2
"""Replicates whose sums are moved one by one."""
SAME = 1e-6
"""Exact numbers that vary by less of their standard error are the same in every sample, but for rounding."""
EDGE = 4
"""Standard errors from a limit within which shown numbers are cut, so that they vary less."""
RECORDS = 1000
"""Of the cell that a preview is compared with, where the plan names no number."""
LEAST_CELLS, LEAST_DRAWS = 8, 100
"""Cells that are judged together, and replicates of which a variance is."""
PART = 0.05
"""How far a measured number is moved, in standard deviations of its noise, but at least by one."""
NEGLIGIBLE = 1e-3
"""A block that brings less of the variance is not looked at by itself."""


@dataclass(frozen=True, order=True)
class ErrorFinding:
    """A judgement that an example did not keep."""

    judgement: str
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.judgement} in {self.where}: {self.detail}"


def check(method: Method, exceptions: Mapping[str, Mapping[str, str]], effort: SimulationEffort = QUICK) -> int:
    """Judge every example of a method; return how many have an error to judge.

    `exceptions` are reasons by `method number` and judgement for what cannot be kept.
    """
    judged = 0
    for number, example in enumerate(method.examples):
        if not claims_error(method, example):
            continue
        judged += 1
        name = f"{method.name} {number}"
        unkept = findings(method.name, example, effort, name)
        reasons = exceptions.get(name, {})
        new = [str(finding) for finding in unkept if finding.judgement not in reasons]
        assert not new, f"{name}, {example['table']}: " + "; ".join(new)
        if effort is QUICK:
            stale = set(reasons) - {finding.judgement for finding in unkept}
            assert not stale, f"{name} keeps {sorted(stale)}, which are listed as not kept"
    return judged


def claims_error(method: Method, example: Request) -> bool:
    """Whether an answer carries a published error."""
    is_named = set(getattr(method, "without_error", ())) & set(example["table"])
    if not method.has_error or is_named:
        return False
    asked = {"table": {"measure": method.name, **example["table"]}, "privacy": example["privacy"]}
    return not isinstance(plan(asked, QUICK.chosen).law, Withheld)


def findings(measure: str, example: Request, effort: SimulationEffort = QUICK, seed: str = "") -> list[ErrorFinding]:
    """Everything that one example does not keep."""
    return judge(ReplicatedExample.of(measure, example, effort), seed or measure)


def judge(asked: ReplicatedExample, seed: str) -> list[ErrorFinding]:
    """Everything that one example does not keep, with its replicates."""
    if asked.planned() is None:
        return [ErrorFinding("silence", "every world", "replicates are refused as cells and as a condition")]
    unkept, worlds = [*judge_gradients(asked, seed)], [*WORLDS][: asked.worlds]
    ordinary = {world: in_world(asked, world, f"{seed} {world}") for world in worlds}
    for world, tables in ordinary.items():
        if not tables:
            unkept.append(ErrorFinding("silence", world, "no release can be compared with a truth"))
        for table in tables:
            unkept += judge_coverage(table, world)
    unkept += judge_variance(list(ordinary.values()))
    if asked.is_cells:
        unkept += judge_preview(asked)
    # Files of other cells would not have the declared number of rows.
    if asked.is_cells and not asked.is_sized:
        degenerate = shown(asked, [error_worlds.degenerate(asked.size)] * asked.releases, f"{seed} degenerate")
        limits = possible(asked, seed) if asked.worlds == len(WORLDS) else None
        for world, tables in (*ordinary.items(), ("degenerate cells", degenerate)):
            unkept += [] if limits is None else judge_limits(tables[:1], limits, world)
        unkept += judge_degenerate(asked, degenerate, ordinary[worlds[0]])
    return sorted(unkept)


def judge_coverage(table: SimulatedTable, where: str) -> Iterator[ErrorFinding]:
    """Misses in each tail, of both intervals; and whether there are intervals at all."""
    place = f"{where}, {table.name}"
    kinds = [("noise", table.ends, table.truth)]
    if table.sampled_ends is not None and table.process is not None:
        kinds.append(("noise and sampling", table.sampled_ends, np.broadcast_to(table.process, table.values.shape)))
    for kind, ends, truth in kinds:
        is_true = ~np.isnan(truth)
        is_given = is_true & ~np.isnan(ends[0]) & ~np.isnan(ends[1])
        has_error = ~np.isnan(table.variance).all() or is_given.any()
        if has_error and is_true.sum() and is_given.sum() < FEWEST * is_true.sum():
            yield ErrorFinding("silence", place, f"{kind}: {is_given.sum()} of {is_true.sum()} cells have an interval")
        if np.any(ends[0] > ends[1]):
            yield ErrorFinding(
                "coverage", place, f"{kind}: {np.sum(ends[0] > ends[1])} lower ends lie above the upper ones"
            )
        if is_given.sum() < LEAST_CELLS:
            continue
        for tail, share in _missed(ends, truth, is_given):
            yield ErrorFinding(
                "coverage", place, f"{kind}: {share:.1%} of {is_given.sum()} cells lie {tail} their interval"
            )


def _missed(ends: tuple[FloatArray, FloatArray], truth: FloatArray, is_given: Any) -> Iterator[tuple[str, float]]:
    """Tails in which more is missed than may be, with the share that is."""
    from scipy.stats import binom

    slack = 1e-9 * (1 + np.abs(truth))
    for tail, missed in (("below", truth < ends[0] - slack), ("above", truth > ends[1] + slack)):
        count, cells = int((missed & is_given).sum()), int(is_given.sum())
        if cells and binom.sf(count - 1, cells, MISSED) < LEVEL:
            yield tail, count / cells


def judge_variance(worlds: Sequence[Sequence[SimulatedTable]]) -> Iterator[ErrorFinding]:
    """Stated over observed variance of each table, in each world and in all of them together."""
    for tables in zip(*worlds, strict=False):
        for kind in ("noise", "noise and sampling"):
            squares = [one for table in tables if (one := _relative_squares(table, kind)) is not None]
            groups = [*squares, np.concatenate(squares)] if len(squares) > 1 else squares
            for number, group in enumerate(groups):
                if len(group) < LEAST_DRAWS or not group.mean():
                    continue
                observed, reach = group.mean(), REACH * group.std() / np.sqrt(len(group)) / group.mean()
                if not min(1 / RATIO[1], 1 - reach) <= observed <= max(1 / RATIO[0], 1 + reach):
                    where = "all worlds" if number == len(squares) else f"world {number + 1}"
                    yield ErrorFinding(
                        "variance",
                        f"{where}, {tables[0].name}",
                        f"{kind}: stated is {1 / observed:.2f} times what is observed",
                    )


def _relative_squares(table: SimulatedTable, kind: str) -> FloatArray | None:
    """Squared errors over what is stated for them, averaged over the cells of each replicate.

    Cells near a limit are left out, and cells some of whose numbers were cut, because they vary less; so are cells that
    hold the same in every sample.
    """
    stated, truth = (table.variance, table.truth) if kind == "noise" else (table.sampled, table.process)
    if stated is None or truth is None or np.isnan(stated).all():
        return None
    truth = np.broadcast_to(truth, table.values.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (table.values - truth) ** 2 / np.nanmean(stated, axis=0)
        room = EDGE * np.sqrt(np.nanmax(stated, axis=0))
    is_kept = np.isfinite(squares).all(axis=0) & ~_is_cut(table.values)
    if kind != "noise":
        is_kept &= np.nanstd(table.truth, axis=0) > SAME * np.sqrt(np.nanmean(stated, axis=0))
    if table.limits is not None:
        is_kept &= (truth.min(axis=0) - room > table.limits[0]) & (truth.max(axis=0) + room < table.limits[1])
    return np.asarray(squares[:, is_kept].mean(axis=1)) if is_kept.any() else None


def _is_cut(values: FloatArray) -> Any:
    """Whether several replicates of a cell have the same largest or least number, which fractions do by being cut."""
    if np.all(np.isnan(values) | (values == np.rint(values))):
        return np.zeros(values.shape[1], dtype=np.bool_)
    ends = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return np.any([(values == end).sum(axis=0) > 1 for end in ends], axis=0)


def stated_over_differences(run: SimulatedRelease, blocks: Sequence[Block]) -> Iterator[tuple[str, FloatArray]]:
    """For all blocks and for each alone: the stated variance of the first table's cells over that by differences.

    Simulation does not see a wrong derivative that widens. So every measured number is moved a little, and what the
    shown numbers do is summed. Where the variance is computed from the laws of the blocks, the same is asked with noise
    in one block alone: that isolates the derivative by each of them.
    """
    moved = [_moved(run, blocks, place) for place in range(len(blocks))]
    parts = [0.0 if one is None else one for one in moved]
    whole = np.asarray(sum(parts))
    if not np.any(whole > 0):
        return
    yield (
        "all measured numbers",
        np.divide(_first(run, blocks).variance, whole, out=np.full_like(whole, np.nan), where=whole > 0),
    )
    alone = [
        _first(run, [block if k == place else silenced(block) for k, block in enumerate(blocks)]).variance
        for place in range(len(blocks))
    ]
    if np.allclose(np.nansum(alone, axis=0), _first(run, blocks).variance, rtol=0.02):
        for block, by_difference, stated in zip(blocks, parts, alone, strict=True):
            is_large = by_difference > NEGLIGIBLE * whole
            if np.any(is_large):
                yield block.name, np.where(is_large, stated / np.where(is_large, by_difference, 1.0), 1.0)


def _first(run: SimulatedRelease, blocks: Sequence[Block]) -> Table:
    return run.plan.assemble(tuple(blocks))[0]


def _moved(run: SimulatedRelease, blocks: Sequence[Block], place: int) -> FloatArray | None:
    """The variance that the noise of one block brings to each shown number, by central differences."""
    block = blocks[place]
    deviations = _deviations(block)
    if deviations is None:
        return None
    total: FloatArray = np.zeros(1)
    for entry, deviation in enumerate(deviations):
        step, ends = max(1, round(PART * deviation)), []
        for side in (step, -step):
            values = block.values.copy()
            values.reshape(-1)[entry] += side
            changed = [*blocks[:place], replace(block, values=values), *blocks[place + 1 :]]
            ends.append(_first(run, changed).values)
        total = total + ((ends[0] - ends[1]) / (2 * step) * deviation) ** 2
    return total


def _deviations(block: Block) -> FloatArray | None:
    """Standard deviation of the noise of each measured number; None where it is not additive.

    Residual components are released as differences from a first entry, and centred by whoever reads them. So one entry
    of the differences moves what is shown as the same entry of the noise does.
    """
    if isinstance(block.law, Additive):
        return np.full(block.values.size, np.sqrt(block.law.noise.variance))
    if not isinstance(block.law, Joint) or block.law.structure != "residual":
        return None
    parts = block.law.parameters["components"]
    cells = [int(part["cells"]) for part in parts]
    return np.asarray(np.sqrt(np.repeat([float(part["noise_variance"]) for part in parts], cells)))


def judge_gradients(example: ReplicatedExample, seed: str) -> Iterator[ErrorFinding]:
    """Finite differences at the exact sums of few replicates, in two worlds; cells near a limit are left out."""
    one = replace(example, size=1 if example.is_alone else FEW_CELLS, releases=1)
    for world in ("skewed", "correlated")[: example.worlds]:
        source = error_worlds.expected(world, one.size)
        made = run(one.plan(), source, f"{seed} gradient")
        if made is None or made.is_chosen:
            continue
        for part, ratios in stated_over_differences(made, made.silent_blocks()):
            inner = ratios[np.isfinite(ratios) & _is_inside(made)]
            wrong = inner[(inner < GRADIENT[0]) | (inner > GRADIENT[1])]
            if len(wrong):
                yield ErrorFinding(
                    "gradient", world, f"{part}: stated is {wrong[0]:.3f} times the variance by differences"
                )


def _is_inside(made: SimulatedRelease) -> Any:
    """Cells of the first table that are not near what the plan says to be possible."""
    table, limits = made.release.tables[0], made.plan.limits
    if limits is None:
        return np.ones(table.values.shape, dtype=np.bool_)
    room = EDGE * table.std_error
    return (table.values - room > limits[0]) & (table.values + room < limits[1])


def judge_preview(example: ReplicatedExample) -> Iterator[ErrorFinding]:
    """What the plan expects in a cell of evenly spread records, against a release on such records."""
    asked = replace(example, size=EVEN, releases=1)
    planned = asked.plan()
    source = error_worlds.even(int(planned.preview.get("records", RECORDS)))
    made = run(planned, source, "preview")
    if made is None or not made.release.tables:
        return
    silent, release = made.silent(), made.release
    first = release.tables[0]
    # A public number of rows is spread over the cells of each margin, which even records are not.
    margins = [p for p in planned.preview.get("margins", ()) if REPLICATE in p["axes"] and not example.is_sized]
    # Curves have an axis of points more.
    names = {name for part in planned.preview.get("margins", ()) for name in part["axes"]}
    axes = [frozenset(axis.name for axis in table.space.axes if axis.name in names) for table in release.tables]
    pairs = [("margin of error", planned.error, _size(asked, first, silent[0], _half_width(release, first)))]
    if ("margins" in planned.preview and example.is_sized) or is_certified(release.law):
        # Ends of quantiles are values of records, which lie apart as the data have it.
        pairs = []
    if margins and frozenset(margins[0]["axes"]) in axes:
        pairs = [
            (f"margin of error by {' x '.join(part['axes'])}", margin_of_error(part), _size(asked, table, true, half))
            for part in margins
            for table, true, own in zip(release.tables, silent, axes, strict=True)
            if table.measure == first.measure and own == frozenset(part["axes"])
            for half in (_half_width(release, table),)
        ]
    if first.sampled is not None and "std_error_with_sampling" in planned.preview:
        stated = float(planned.preview["std_error_with_sampling"])
        pairs.append(
            ("standard error with sampling", stated, _size(asked, first, silent[0], first.std_error_with_sampling))
        )
    for name, expected, released in pairs:
        if (
            np.isfinite(expected)
            and np.isfinite(released)
            and not RATIO[0] * released <= expected <= RATIO[1] * released
        ):
            yield ErrorFinding("preview", "even records", f"{name}: {expected:.4g} planned, {released:.4g} released")


def _half_width(release: Release, table: Table) -> FloatArray:
    lower, upper = bounds(release, table, CONFIDENCE)
    return (upper - lower) / 2


def _size(example: ReplicatedExample, table: Table, silent: Table, numbers: FloatArray) -> float:
    """The root mean square over replicates, in that cell with records where it is largest."""
    if not example.has_replicates(table):
        return float("nan")
    sizes, true = example.column(table, numbers), example.column(silent, silent.values)
    is_filled = np.all(np.isfinite(true) & (np.abs(true) > 1e-9), axis=0)
    return float(np.max(np.sqrt(np.mean(sizes**2, axis=0))[is_filled], initial=-np.inf))


def possible(example: ReplicatedExample, seed: str) -> tuple[float, float] | None:
    """What the number can be by the declared bounds; None where other shares of the rows make more possible."""
    rows = error_worlds.corner_rows()
    asked = replace(example, size=len(rows), releases=1)
    tables = [] if asked.planned() is None else shown(asked, [error_worlds.corners()], f"{seed} corners")
    if not tables:
        return None
    is_other = np.array([len(corner) > 40 for corner in rows])
    few, many = (part[np.isfinite(part)] for part in (tables[0].truth[~is_other], tables[0].truth[is_other]))
    if not len(few) or not len(many):
        return None
    slack = 1e-6 * (few.max() - few.min() + 1)
    low, high = float(few.min() - slack), float(few.max() + slack)
    return (low, high) if low <= many.min() and many.max() <= high else None


def judge_limits(tables: Sequence[SimulatedTable], limits: tuple[float, float], where: str) -> Iterator[ErrorFinding]:
    for table in tables:
        shown_numbers = {"value": table.values, "lower end": table.ends[0], "upper end": table.ends[1]}
        if table.sampled_ends is not None:
            shown_numbers |= {"lower end with sampling": table.sampled_ends[0]}
            shown_numbers |= {"upper end with sampling": table.sampled_ends[1]}
        for name, numbers in shown_numbers.items():
            outside = numbers[(numbers < limits[0]) | (numbers > limits[1])]
            if len(outside):
                detail = f"{name} {outside[0]:.4g} outside {limits[0]:.4g} … {limits[1]:.4g}"
                yield ErrorFinding("limits", f"{where}, {table.name}", detail)


def judge_degenerate(
    example: ReplicatedExample, tables: Sequence[SimulatedTable], ordinary: Sequence[SimulatedTable]
) -> Iterator[ErrorFinding]:
    kinds = np.tile(error_worlds.kinds(example.size), example.releases)
    for table, usual in zip(tables[:1], ordinary[:1], strict=False):
        if np.isinf(table.values).any():
            yield ErrorFinding("degenerate", table.name, "a shown number is infinite")
        if np.any(table.ends[0] > table.ends[1]):
            yield ErrorFinding("degenerate", table.name, "a lower end lies above the upper one")
        width = np.nanmedian(usual.ends[1] - usual.ends[0], axis=0)
        for number, kind in enumerate(KINDS):
            rows = kinds == number
            ends, truth = (table.ends[0][rows], table.ends[1][rows]), table.truth[rows]
            is_given = ~np.isnan(ends[0]) & ~np.isnan(ends[1]) & ~np.isnan(truth)
            if is_given.sum() >= LEAST_CELLS:
                for tail, share in _missed(ends, truth, is_given):
                    yield ErrorFinding(
                        "degenerate", kind, f"{share:.1%} of {is_given.sum()} cells lie {tail} their interval"
                    )
            has_none = np.isnan(truth) & ~np.isnan(ends[0]) & ~np.isnan(ends[1])
            for cell in range(truth.shape[1]):
                widths = (ends[1] - ends[0])[has_none[:, cell], cell]
                if len(widths) and np.median(widths) < NARROW * width[cell]:
                    detail = f"cell {cell}: intervals of {np.median(widths):.3g}, {width[cell]:.3g} in ordinary cells"
                    yield ErrorFinding("degenerate", kind, detail)
