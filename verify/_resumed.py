"""Long checks part by part: what a part found is kept until all are done, so that a run that was ended goes on where it was.

Parts that another source judged are judged again; the seconds of a run that went on are those of its last piece.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from verify import _evidence as evidence


def judged(name: str, parts: Iterable[str], judge: Callable[[str], Any], *, is_kept: bool = True) -> dict[str, Any]:
    """What `judge` finds of every part, in values that JSON knows; several parts side by side, each in a process."""
    source, path, began = str(evidence.origin()["source"]), evidence.RESULTS / f"{name}.partial", time.perf_counter()
    lines = [json.loads(line) for line in path.read_text().splitlines()] if is_kept and path.exists() else []
    found = {line["part"]: line["found"] for line in lines if line["source"] == source}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        begun = {pool.submit(judge, part): part for part in parts if part not in found}
        for done in as_completed(begun):
            part = begun[done]
            found[part] = done.result()
            print(f"{name}, {time.perf_counter() - began:,.0f} s: {part}: {found[part]}", file=sys.stderr, flush=True)
            if is_kept:
                with path.open("a") as partial:
                    partial.write(json.dumps({"source": source, "part": part, "found": found[part]}) + "\n")
    if is_kept:
        path.unlink(missing_ok=True)
    return found
