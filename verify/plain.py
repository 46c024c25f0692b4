"""Plain questions, asked with nothing but a budget, about every declared variable of every public file and of the survey demo.

Claim, fixed before the first run. Declarations are the drafts of `dalenius.describe`, confirmed as they stand, with the number of rows
per person where there are several. At rho = .01 every plain question plans: the count of every variable with categories and the
proportion of one of them; of every number the mean, the total (with the error of noise, and with both), the median, the variance
and the proportion above a point. Refused are proportions of a variable with one category, and nothing else.
(a) The intervals hold. 2,000 samples of 200 rows or so, or of 400 where persons have several, drawn as in `files`, are the cells of one release. In no setting (file, variable,
measure, kind) a binomial test at .0005 rejects 93.5 %; or, with sampling, one point less than the textbook's interval without noise
covers on the same samples, where that is less. That of noise is judged against the sample, that with sampling against the file.
(b) The plan's margins hold in cells of the stated size. Where margins depend on where values lie, a plan states several: for values
spread evenly, a larger one that 95 of 100 releases keep below, and for an upper tail at a tenth and a hundredth of the bounds. For each
measure 90 % of all cells have a margin of at least the smallest one over 1.5 and at most 1.5 times the largest one. A quantile's
is stated in ranks: 90 % of the intervals hold at most 1.5 times so many records between their ends, and at least so many over
1.5 with those at their ends. Margins are those of noise before an interval is cut to what is possible, and at most half of that. The share of cells within 1.5
of the first figure alone, and of the second, is reported beside it: no figure alone holds for every variance. Settings in which
the share is below 90 % are listed.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dalenius
from dalenius import Curator
from dalenius.algebra import tabulation
from dalenius.core.domain import CellSpace
from dalenius.core.law import FloatArray
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.demo import survey
from dalenius.demo.survey_rows import WAVES
from dalenius.errors import DaleniusError
from verify import _file_truths as truths
from verify._file_truths import Asked, Truth, Z
from verify._stacks import FILES, File, Population, Stack, population, stacked
from verify.files import PARTS, Tally, parts_of

SAMPLES, ROWS, QUICK = 2000, 200, 300
RHO = "1/100"
FACTOR, SHARE = 1.5, 0.9
STATED = "cells within 1.5 of what the plan states"
POLICY = {"budget": {"rho": 1000}}
PROCESSES = 2
PERSONS = 20_000


def _survey(path: Path) -> None:
    survey.materialise(path.parent, PERSONS)


SURVEY = File(
    name=survey.microdata_name(WAVES[0]), x="income", y="hours", by="status", unit="person", max_rows=4, make=_survey
)
PUBLIC = (*(file for file in FILES if file.make is None), SURVEY)


@dataclass
class Margins:
    """Cells whose released margin is within a factor of what the plan stated, and of its two main figures alone."""

    cells: int
    kept: int
    smaller: int
    larger: int
    planned: tuple[float, float]
    released: tuple[float, float, float]

    def merge(self, other: "Margins") -> None:
        """Add cells of another part of the same table."""
        for name in ("cells", "kept", "smaller", "larger"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(kw_only=True)
class Found:
    """What was judged of one file, by variable, measure and kind of error."""

    held: dict[tuple[str, str, str], Tally] = field(default_factory=dict)
    margins: dict[tuple[str, str], Margins] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def variables_of(path: Path) -> dict[str, dict[str, Any]]:
    """The draft of a newcomer, confirmed as it stands."""
    drafted = dalenius.describe(path)
    drafted.population = "people"
    drafted.confirm()
    return {name: _part(each) for name, each in drafted.variables.items()}


def _part(each: Any) -> dict[str, Any]:
    codes = {"missing_codes": [str(code) for code in each.missing_codes]} if each.missing_codes else {}
    if each.bounds is None:
        return {"categories": dict(each.categories), **codes}
    return {"bounds": [str(end) for end in each.bounds], "step": str(each.grid), **codes}


def requests(role: str, population: Population) -> Iterator[dict[str, Any]]:
    """The plain questions about a number, or about a variable with categories."""
    if role == "by":
        labels = list(population.parts["by"]["categories"].values())
        yield {"measure": "count", "columns": ["by"]}
        yield {"measure": "proportion", "of": "by", "among": [labels[0]]}
        return
    for measure in ("mean", "total", "median", "variance"):
        yield {"measure": measure, "of": "x"}
    yield {"measure": "total", "of": "x", "error": "sampling"}
    values, part = population.rows.numbers["x"], population.parts["x"]
    step, low = Fraction(part["step"]), Fraction(part["bounds"][0])
    point = low + max(round((Fraction(float(np.nanquantile(values, 0.75))) - low) / step), 1) * step
    yield {"measure": "proportion", "of": "x", "among": {"at_least": str(float(point))}}


def truth_of(asked: Asked, release: Release) -> Truth:
    """Of every cell."""
    space, measure = release.table.space, asked.table["measure"]
    if measure == "median":
        return truths.quantile_sets(asked, space, [Fraction(1, 2)])
    if measure == "count" or asked.table["of"] == "by":
        return _of_categories(asked, space, measure)
    return truths.estimate(asked, space, measure, None, None)


def _of_categories(asked: Asked, space: CellSpace, measure: str) -> Truth:
    """Records by category, or the share of the first among those that have one."""
    stack, whole = asked.stack, asked.stack.population.rows.by
    many = len(stack.population.parts["by"]["categories"])
    codes, group = stack.rows.by, stack.rows.group
    has = codes >= 0
    counts = np.bincount(group[has] * many + codes[has], minlength=stack.groups * many).astype(np.float64)
    if measure == "count":
        is_first = [axis.variable for axis in space.axes].index("sample") == 0
        ordered = counts if is_first else counts.reshape(-1, many).T.ravel()
        return Truth(own=(ordered, ordered))
    table = counts.reshape(-1, many)
    n = table.sum(axis=1)
    own, target = table[:, 0] / n, np.full(stack.groups, (whole == 0).sum() / (whole >= 0).sum())
    half = Z * np.sqrt(own * (1 - own) / n)
    return Truth(own=(own, own), of_file=(target, target), textbook=(own - half, own + half))


def records_of(asked: Asked) -> int:
    """How many records a cell is expected to have that count."""
    rows = asked.stack.rows
    counted = asked.is_counted(rows) & ((rows.by >= 0) | (asked.table.get("of") != "by"))
    return max(int(counted.sum()) // asked.stack.groups, 1)


def margins_of(asked: Asked, plan: TablePlan, release: Release) -> Margins:
    """Released margins beside what the plan stated."""
    preview, table = plan.preview, release.table
    lower, upper = tabulation.bounds(release, table)
    if "ranks" in preview:
        inside, closed = _ranks(asked, table.space.axes[0].labels, lower, upper)
        stated = float(preview["ranks"])
        is_cut = _is_cut(plan, lower, upper)
        kept = int(((inside <= FACTOR * stated) & (is_cut | (closed >= stated / FACTOR))).sum())
        return Margins(len(inside), kept, kept, kept, (stated, stated), _spread(inside))
    low, high = plan.limits or (0.0, np.inf)
    half, errors = (upper - lower) / 2, Z * np.sqrt(table.variance)
    half = np.fmin(np.where(_is_cut(plan, lower, upper), np.fmax(half, errors), half), (high - low) / 2)
    first = float(preview["half_width_95"])
    second = float(preview.get("half_width_95_at_most", first))
    every = (first, second, *(float(part["half_width_95"]) for part in preview.get("by_upper_tail", ())))
    return Margins(
        len(half),
        _within(half, min(every), max(every)),
        _within(half, first, first),
        _within(half, second, second),
        (min(every), max(every)),
        _spread(half),
    )


def _is_cut(plan: TablePlan, lower: FloatArray, upper: FloatArray) -> Any:
    """Whether an interval ends at what is possible."""
    low, high = plan.limits or (0.0, np.inf)
    return (lower <= low) | (upper >= high)


def _within(half: FloatArray, low: float, high: float) -> int:
    return int(((half >= low / FACTOR) & (half <= FACTOR * high)).sum())


def _spread(values: FloatArray) -> tuple[float, float, float]:
    low, middle, high = np.nanquantile(values, [0.05, 0.5, 0.95])
    return float(low), float(middle), float(high)


def _ranks(asked: Asked, names: Sequence[str], lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half of the records of each sample between the ends of its interval, without and with those at the ends."""
    rows, places = asked.stack.rows, [int(name.removeprefix("s")) for name in names]
    ends = np.full((2, asked.stack.groups), np.nan)
    ends[:, places] = lower, upper
    lower, upper = ends
    x, group, kept = rows.numbers["x"], rows.group, asked.is_counted(rows)
    slack = 1e-9 * (1 + np.abs(x))
    inner = kept & (x > lower[group] + slack) & (x < upper[group] - slack)
    outer = kept & (x >= lower[group] - slack) & (x <= upper[group] + slack)
    halves = [np.bincount(group[each], minlength=asked.stack.groups) / 2 for each in (inner, outer)]
    return halves[0][places], halves[1][places]


def document_of(stack: Stack) -> dict[str, Any]:
    """The drafts as they stand, and the samples beside them."""
    rows = stack.population.file.max_rows
    return {
        "dataset": {"name": "stack", "population": "stack", "public": True},
        "unit": {"relation": "add-remove", **({"id": "person", "max_rows": rows} if rows > 1 else {})},
        "design": {"draws": "independent"},
        "variables": {**stack.population.parts, "sample": {"categories": stack.names}},
    }


def judge(found: Found, stack: Stack, role: str, name: str, curator: Curator) -> None:
    """Every plain question about one variable."""
    for table in requests(role, stack.population):
        asked = Asked(stack=stack, table=table)
        what = f"{table['measure']}{' with both errors' if 'error' in table else ''}"
        sized = {} if what in ("count", "total") else {"in_cells_of": records_of(asked)}
        request: dict[str, Any] = {"table": {"rows": ["sample"], **table}, "privacy": {"rho": RHO, **sized}}
        # Medians are asked of so many samples at a time: their values are read cell by cell.
        is_whole = what != "median" or stack.groups <= PARTS
        parts = [request["table"]] if is_whole else list(parts_of(request["table"], stack.names, PARTS))
        try:
            plan = curator.plan({**request, "table": parts[0]})
        except DaleniusError as refusal:
            found.refused.append(f"{what} of {name}: {refusal}")
            continue
        for part in parts:
            release = curator.release({**request, "table": part})
            margins = margins_of(asked, plan, release)
            compare(found, (name, what), asked, release)
            found.margins.setdefault((name, what), replace(margins, cells=0, kept=0, smaller=0, larger=0)).merge(
                margins
            )


def compare(found: Found, key: tuple[str, str], asked: Asked, release: Release) -> None:
    """Both intervals of every cell with the truth."""
    truth = truth_of(asked, release)
    kinds = {
        "noise": (tabulation.bounds(release, release.table), truth.own),
        "sampling": (tabulation.sampled_bounds(release, release.table), truth.of_file),
    }
    for kind, (ends, target) in kinds.items():
        if target is not None and np.isfinite(ends[0]).any():
            textbook = truth.textbook if kind == "sampling" else None
            found.held.setdefault((*key, kind), Tally()).add(ends, target, textbook, 1)


def judged(file: File, samples: int, only: int = 0) -> Found:
    """One file, variable by variable: every number beside a variable with categories."""
    found = Found()
    with TemporaryDirectory() as place:
        folder = Path(place)
        path = file.path(folder)
        drafted = variables_of(path)
        numbers = [name for name, part in drafted.items() if "bounds" in part]
        others = [name for name, part in drafted.items() if "categories" in part]
        turns = max(len(numbers), len(others))
        for turn in range(turns if not only else min(only, turns)):
            x, by = numbers[turn % len(numbers)] if numbers else "", others[turn % len(others)] if others else ""
            roles = replace(file, x=x, y="", by=by, w="", declared={})
            stack = stacked(population(roles, folder, drafted, ROWS * (2 if file.max_rows > 1 else 1)), samples, turn)
            opened = Curator.open(
                stack.table(),
                document_of(stack),
                ledger=folder / f"{turn}.sqlite",
                policy=POLICY,
                rng=RecordedRandomness(f"plain {file.name} {turn}"),
            )
            with opened as curator:
                curator.register(by="verify")
                for role, name, listed in (("x", x, numbers), ("by", by, others)):
                    if turn < len(listed):
                        judge(found, stack, role, name, curator)
    return found


def verdict(founds: Mapping[str, Found]) -> dict[str, Any]:
    """What was refused, rejected, and outside of what was planned."""
    held = [(file, *key, tally) for file, found in founds.items() for key, tally in found.held.items()]
    margins = [(file, *key, each) for file, found in founds.items() for key, each in found.margins.items()]
    refused = [f"{file}: {text}" for file, found in founds.items() for text in found.refused]
    rejected = [
        {"file": f, "variable": v, "measure": m, "kind": k, "coverage": t.held / t.given, "floor": t.floor}
        for f, v, m, k, t in held
        if t.is_rejected
    ]
    outside = [
        {"file": f, "variable": v, "measure": m, "kept": e.kept / e.cells, "planned": e.planned, "released": e.released}
        for f, v, m, e in margins
        if e.kept < SHARE * e.cells
    ]
    planned = [_kept(what, margins) for what in sorted({m for _, _, m, _ in margins})]
    unforeseen = [text for text in refused if "Every category of" not in text]
    return {
        "files": len(founds),
        "variables": len({(f, v) for f, v, *_ in held}),
        "settings": len(held),
        "intervals": sum(tally.given for *_, tally in held),
        "share of cells without an interval": 1
        - sum(t.given for *_, t in held) / max(sum(t.cells for *_, t in held), 1),
        "coverage": [_coverage(what, kind, held) for what, kind in sorted({(m, k) for _, _, m, k, _ in held})],
        "planned margins": planned,
        "refused": refused,
        "rejected settings": rejected,
        "settings with less than 90 % of their cells within 1.5 of what the plan states": outside,
        "ok": bool(held) and not unforeseen and not rejected and all(line[STATED] >= SHARE for line in planned),
    }


def _coverage(what: str, kind: str, held: list[Any]) -> dict[str, Any]:
    own = [tally for _, _, m, k, tally in held if (m, k) == (what, kind)]
    given = sum(tally.given for tally in own)
    return {
        "measure": what,
        "kind": kind,
        "settings": len(own),
        "coverage": sum(tally.held for tally in own) / given,
        "least": min(tally.held / tally.given for tally in own),
    }


def _kept(what: str, margins: list[Any]) -> dict[str, Any]:
    own = [each for _, _, m, each in margins if m == what]
    cells = sum(each.cells for each in own)
    return {
        "measure": what,
        "settings": len(own),
        STATED: sum(each.kept for each in own) / cells,
        "of its smaller figure alone": sum(each.smaller for each in own) / cells,
        "of its larger figure alone": sum(each.larger for each in own) / cells,
        "settings with 90 %": sum(each.kept >= SHARE * each.cells for each in own),
    }


def _judged_alone(number: int, samples: int) -> Found:
    """One file in a process of its own; nothing where it is not on this machine."""
    file = PUBLIC[number]
    return judged(file, samples) if file.make or file.path(Path()).exists() else Found()


def run(quick: bool = False) -> dict[str, Any]:
    """Every file."""
    founds = {}
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        samples = repeat(QUICK if quick else SAMPLES)
        for file, found in zip(PUBLIC, pool.map(_judged_alone, range(len(PUBLIC)), samples), strict=True):
            founds[file.name] = found
            print(f"verify: plain: {file.name}, {len(found.held)} settings", file=sys.stderr, flush=True)
    return verdict({name: found for name, found in founds.items() if found.held or found.refused})
