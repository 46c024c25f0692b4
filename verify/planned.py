"""Planned margins of every measure on every public file: what a plan states beside what is released.

Claim. From each file samples of 200 rows or so are the cells of one table, as in `files`. The requests are the examples of every method,
plain, weighted, in lists and with bootstrap errors, for cells of as many records as the samples have. Of each kind of request 90 % of
all cells have a margin of at least the smallest figure of the plan over 1.5 and at most 1.5 times the largest one: a plan states several
where margins depend on where values lie (`plain` has the shares within single figures). Intervals of quantiles are judged in ranks. Judged is
the margin of noise, before an interval is cut to what is possible. Cells by a second variable would have other sizes than the stated one and are left out.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalenius.algebra import tabulation
from dalenius.core.plan import TablePlan, margin_of_error
from dalenius.core.release import Release, Table
from dalenius.errors import DaleniusError
from verify._file_requests import examples
from verify._file_truths import Asked, Z
from verify._stacks import FILES, Population, population, stacked
from verify.files import FAMILY, FITTED, RequestService, parts_of
from verify.plain import FACTOR, SHARE, _ranks, records_of

SAMPLES, QUICK = 100, 40


def kind_of(table: Mapping[str, Any]) -> str:
    """The measure, and what is combined with it."""
    beside = {"weight": "weighted", "margins": "list", "learn": "learned", "error": str(table.get("error", ""))}
    return ", ".join(
        [str(table["measure"]), *(word for key, word in beside.items() if table.get(key, "none") != "none")]
    )


def requests(population: Population, *, is_quick: bool) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Examples with the samples as their cells, and lists in which these are one margin; each kind once if it is quick."""
    seen: set[str] = set()
    for listed in examples(population).values():
        for table, privacy in listed:
            own = {key: value for key, value in table.items() if key != "columns"}
            if "margins" not in table:
                own["rows"] = [name for name in table.get("rows", ()) if name == "sample"]
            is_ranged = "ranges" in table or table["measure"] == FAMILY
            if own["rows"] and not is_ranged and not (is_quick and kind_of(own) in seen):
                seen.add(kind_of(own))
                yield own, privacy


def judged(plan: TablePlan, asked: Asked, release: Release) -> Iterator[tuple[int, int, float, float]]:
    """(cells, those within the factor, least and largest figure of the plan) of each table whose cells are samples."""
    parts = plan.preview.get("margins") or [plan.preview]
    for part, table in zip(parts, release.tables, strict=False):
        lower, upper = tabulation.bounds(release, table)
        names = [axis.variable for axis in table.space.axes]
        if names[:1] != ["sample"] or ("axes" in part and len(names) > 1):
            continue
        if not np.isfinite(upper - lower).any() or not np.isfinite(margin_of_error(part)):
            continue
        if "ranks" in part and len(names) == 1:
            inside, closed = _ranks(asked, table.space.axes[0].labels, lower, upper)
            stated = float(part["ranks"])
            kept = (inside <= FACTOR * stated) & ((closed >= stated / FACTOR) | _is_cut(plan, lower, upper))
            yield len(inside), int(kept.sum()), stated, stated
            continue
        half, figures = _halves(plan, table, lower, upper), _figures(part)
        kept = (half >= min(figures) / FACTOR) & (half <= FACTOR * max(figures))
        given = np.isfinite(half)
        yield int(given.sum()), int((kept & given).sum()), min(figures), max(figures)


def _figures(part: Mapping[str, Any]) -> list[float]:
    ends = (f"half_width_95_at_{end}" for end in ("least", "most"))
    stated = [margin_of_error(part), *(float(part.get(end, np.nan)) for end in ends)]
    stated += [float(tail["half_width_95"]) for tail in part.get("by_upper_tail", ())]
    return [figure for figure in stated if np.isfinite(figure)]


def _halves(plan: TablePlan, table: Table, lower: Any, upper: Any) -> Any:
    low, high = plan.limits or (0.0, np.inf)
    half = np.where(_is_cut(plan, lower, upper), np.fmax((upper - lower) / 2, Z * table.std_error), (upper - lower) / 2)
    return np.fmin(half, (high - low) / 2)


def _is_cut(plan: TablePlan, lower: Any, upper: Any) -> Any:
    low, high = plan.limits or (0.0, np.inf)
    return (lower <= low) | (upper >= high)


def run(quick: bool = False) -> dict[str, Any]:
    """Every file, or two; kinds with less than 90 % of their cells, and what was refused."""
    found: dict[str, list[Any]] = defaultdict(list)
    refused: Counter[str] = Counter()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, file in enumerate(FILES[: 2 if quick else None]):
            if file.path(folder).exists():
                _judge_file(population(file, folder), number, found, refused, is_quick=quick)
    shares = {kind: sum(row[3] for row in rows) / sum(row[2] for row in rows) for kind, rows in sorted(found.items())}
    failed = [kind for kind, share in shares.items() if share < SHARE]
    return {
        "ok": bool(shares) and not failed,
        "kinds": len(shares),
        "failed": failed,
        "share of cells within 1.5 of what the plan states": shares,
        "requests": {kind: len(rows) for kind, rows in found.items()},
        "requests below 90 %": {kind: low for kind, rows in found.items() if (low := _low(rows))},
        "refused": dict(refused),
    }


def _low(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row[3] < SHARE * row[2]][:3]


def _judge_file(source: Population, number: int, found: Any, refused: Counter[str], *, is_quick: bool) -> None:
    stack = stacked(source, QUICK if is_quick else SAMPLES, number)
    with TemporaryDirectory() as name:
        desk = RequestService(stack, "add-remove", Path(name), f"planned {source.file.name}")
        for table, privacy in requests(source, is_quick=is_quick):
            asked = Asked(stack=stack, table=table)
            part = next(parts_of(table, stack.names, FITTED))
            try:
                plan, release = _planned(desk, part, privacy, records_of(asked))
            except DaleniusError as error:
                refused[f"{kind_of(table)}: {type(error).__name__}"] += 1
                continue
            for cells, kept, least, most in judged(plan, asked, release):
                found[kind_of(table)].append((source.file.name, str(table), cells, kept, least, most))
        desk.curator.close()
    print(f"verify: planned: {source.file.name}", file=sys.stderr, flush=True)


def _planned(desk: RequestService, table: Any, privacy: Any, records: int) -> tuple[TablePlan, Release]:
    """For cells of so many records, where margins depend on them."""
    sized = privacy | {"in_cells_of": records}
    try:
        plan = desk.curator.plan({"table": table, "privacy": sized})
    except DaleniusError:
        plan, sized = desk.curator.plan({"table": table, "privacy": privacy}), privacy
    assert isinstance(plan, TablePlan)
    return plan, desk.ask(table, sized)
