"""`make bench`: speed as ratios to a baseline in the same run. Name modules to run some of them; --quick for a look."""

import importlib
import json
import pkgutil
import sys
import time

import bench


def main(arguments: list[str]) -> None:
    """Run the named benchmark modules, or all of them, and print one JSON object each."""
    quick = "--quick" in arguments
    # Further options are the module's own: --rows=1e6 becomes rows="1e6", --table becomes table=True.
    own = {
        name: value if mark else True
        for name, mark, value in (a[2:].partition("=") for a in arguments if a.startswith("--"))
        if name != "quick"
    }
    wanted = [a for a in arguments if not a.startswith("-")]
    names = wanted or [m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_")]
    for name in names:
        started = time.perf_counter()
        result = importlib.import_module(f"bench.{name}").run(quick=quick, **own)
        print(json.dumps({"bench": name, "seconds": round(time.perf_counter() - started, 1), **result}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
