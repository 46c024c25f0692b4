"""`make soak`: long runs in resumable chunks; each module keeps its results in soak/results/, which is committed."""

import importlib
import json
import pkgutil
import sys

import soak


def main(arguments: list[str]) -> None:
    """Run the named modules, or all, until their goal is reached or the run is stopped; then print what stands."""
    quick = "--quick" in arguments
    wanted = [a for a in arguments if not a.startswith("-")]
    names = wanted or [m.name for m in pkgutil.iter_modules(soak.__path__) if not m.name.startswith("_")]
    for name in names:
        print(json.dumps({"soak": name, **importlib.import_module(f"soak.{name}").run(quick=quick)}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
