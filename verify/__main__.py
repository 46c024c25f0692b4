"""`make verify`: simulated levels, coverage and audits. Every module says whether its claim held; one failure fails the run.

Several checks run side by side, each in a process of its own, those that took longest first; `--jobs=1` runs them one by one. With
--save each result is kept in `verify/results` with command, source and date, and with --page the page of evidence is made from what
is kept there.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import verify
from verify import _evidence as evidence

# Each process has a core: the libraries below NumPy would otherwise take all of them.
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main(arguments: list[str]) -> int:
    """Run the named modules, or all, print one JSON object each; the exit code is the number of failed claims."""
    if "--help" in arguments:
        print(__doc__)
        return 0
    if "--page" in arguments:
        evidence.write_page()
        return 0
    wanted = [a for a in arguments if not a.startswith("-")]
    names = wanted or [m.name for m in pkgutil.iter_modules(verify.__path__) if not m.name.startswith("_")]
    jobs = next((int(a.removeprefix("--jobs=")) for a in arguments if a.startswith("--jobs=")), os.cpu_count())
    options = [a for a in arguments if a in ("--quick", "--save")]
    if len(names) == 1 or jobs == 1:
        failed = [name for name in names if not _is_held(name, options)]
    else:
        failed = _side_by_side(names, options, jobs or 1)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return len(failed)


def _is_held(name: str, options: list[str]) -> bool:
    """One check in this process."""
    quick = "--quick" in options
    started, busy, code = time.perf_counter(), _processor_seconds(), evidence.origin()
    result = importlib.import_module(f"verify.{name}").run(quick=quick)
    seconds = {
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(_processor_seconds() - busy, 1),
    }
    print(json.dumps({"verify": name, **seconds, **result}, indent=2), flush=True)
    if "--save" in options:
        evidence.keep(name, result, code | seconds, quick=quick)
    return bool(result.get("ok"))


def _side_by_side(names: list[str], options: list[str], jobs: int) -> list[str]:
    """Each in a process; what it says is printed when it ends, and which end when is said on stderr."""
    took = evidence.processor_seconds()
    names = sorted(names, key=lambda name: -took.get(name, float("inf")))
    started, failed = time.perf_counter(), []

    def done(name: str) -> tuple[str, subprocess.CompletedProcess[str]]:
        command = [sys.executable, "-m", "verify", name, *options]
        return name, subprocess.run(
            command, env={**os.environ, **ALONE}, stdout=subprocess.PIPE, text=True, check=False
        )

    with ThreadPoolExecutor(jobs) as pool:
        for ended in as_completed([pool.submit(done, name) for name in names]):
            name, process = ended.result()
            print(process.stdout, end="", flush=True)
            failed += [name] if process.returncode else []
            verdict = "did not hold" if process.returncode else "held"
            passed = time.perf_counter() - started
            print(f"verify: {name} {verdict}, {passed:,.0f} s after the beginning", file=sys.stderr, flush=True)
    return failed


def _processor_seconds() -> float:
    """Of this process and of those it waited for; on a busy machine they say more than the clock."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
