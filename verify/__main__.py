"""`make verify`: simulated levels, coverage and audits. Every module says whether its claim held; one failure fails the run.

With --save each result is kept in `verify/results` with command, source and date, and with --page the page of evidence is made
from what is kept there.
"""

import importlib
import json
import os
import pkgutil
import sys
import time

import verify
from verify import _evidence as evidence


def main(arguments: list[str]) -> int:
    """Run the named modules, or all, print one JSON object each; the exit code is the number of failed claims."""
    if "--help" in arguments:
        print(__doc__)
        return 0
    if "--page" in arguments:
        evidence.write_page()
        return 0
    quick = "--quick" in arguments
    wanted = [a for a in arguments if not a.startswith("-")]
    names = wanted or [m.name for m in pkgutil.iter_modules(verify.__path__) if not m.name.startswith("_")]
    failed = []
    for name in names:
        started, busy, code = time.perf_counter(), _processor_seconds(), evidence.origin()
        result = importlib.import_module(f"verify.{name}").run(quick=quick)
        seconds = {
            "seconds": round(time.perf_counter() - started, 1),
            "processor_seconds": round(_processor_seconds() - busy, 1),
        }
        print(json.dumps({"verify": name, **seconds, **result}, indent=2), flush=True)
        if "--save" in arguments:
            evidence.keep(name, result, code | seconds, quick=quick)
        if not result.get("ok"):
            failed.append(name)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return len(failed)


def _processor_seconds() -> float:
    """Of this process and of those it waited for; on a busy machine they say more than the clock."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
