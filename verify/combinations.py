"""The kit of errors over every cell of the matrix estimators x modifiers x {one number, table, list with margins} that plans.

Claim, fixed before the first run: that of `dalenius.testing.error_kit`, with its bounds, for every cell of `docs/reference/combinations.md`
that is not refused: 300 replicates in each of three worlds, 150 where numbers are chosen or resampled, 200 releases in each world of one number
of a public number of rows. What a shape does not keep is listed in `verify/_combined_errors.py`. A variance that is stated too large at
a budget at which noise hides that of sampling is judged at a larger one, too.

Each judged cell is kept in `verify/results/combinations.partial` until all are done: a run that was ended goes on where it was, unless the
source is another; its seconds are then those of the last part. Lists come last; they take longest, all cells some 1,000 s of processor time. `python -m verify combinations --quick` judges fewer replicates in one world.
"""

import json
import sys
import time
from typing import Any

from dalenius.testing.simulated import LONG
from verify import _evidence as evidence
from verify._combined_errors import THIN, cells, findings, name_of

PARTIAL = evidence.RESULTS / "combinations.partial"


def _done(source: str) -> dict[str, list[str]]:
    """What an earlier run of the same source judged."""
    lines = [json.loads(line) for line in PARTIAL.read_text().splitlines()] if PARTIAL.exists() else []
    return {line["cell"]: line["findings"] for line in lines if line["source"] == source}


def run(quick: bool = False) -> dict[str, Any]:
    """Every cell that plans."""
    source = str(evidence.origin()["source"])
    judged = {} if quick else _done(source)
    for cell in cells():
        name = name_of(cell)
        if name in judged:
            continue
        judged[name] = [str(finding) for finding in findings(cell, THIN if quick else LONG)]
        print(f"combinations, {time.process_time():,.0f} s: {name}: {judged[name] or 'kept'}", file=sys.stderr, flush=True)  # fmt: skip
        if not quick:
            with PARTIAL.open("a") as partial:
                partial.write(json.dumps({"source": source, "cell": name, "findings": judged[name]}) + "\n")
    unkept = {name: found for name, found in judged.items() if found}
    PARTIAL.unlink(missing_ok=True)
    return {"cells": len(judged), "not kept": unkept, "ok": not unkept}
