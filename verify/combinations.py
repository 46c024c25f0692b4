"""The kit of errors over every cell of the matrix estimators x modifiers x {one number, table, list with margins} that plans.

Claim, fixed before the first run: that of `dalenius.testing.error_kit`, with its bounds, for every cell of `docs/reference/combinations.md`
that is not refused: 300 replicates in each of three worlds, 150 where numbers are chosen or resampled, 200 releases in each world of one number
of a public number of rows. What a shape does not keep is listed in `verify/_combined_errors.py`. A variance that is stated too large at
a budget at which noise hides that of sampling is judged at a larger one, too.

Each judged cell is kept until all are (`verify/_resumed.py`). Lists come last; they take longest, all cells some 1,000 s of processor time. `python -m verify combinations --quick` judges fewer replicates in one world.
"""

from functools import cache, partial
from typing import Any

from dalenius.testing.simulated import LONG, SimulationEffort
from verify._combined_errors import THIN, cells, findings, name_of
from verify._resumed import judged


@cache
def _planned() -> dict[str, Any]:
    return {name_of(cell): cell for cell in cells()}


def _judge(name: str, *, effort: SimulationEffort) -> list[str]:
    return [str(finding) for finding in findings(_planned()[name], effort)]


def run(quick: bool = False) -> dict[str, Any]:
    """Every cell that plans."""
    found = judged("combinations", _planned(), partial(_judge, effort=THIN if quick else LONG), is_kept=not quick)
    unkept = {name: judgements for name, judgements in found.items() if judgements}
    return {"cells": len(found), "not kept": unkept, "ok": not unkept}
