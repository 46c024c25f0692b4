"""Means, variances and medians beside other libraries: errors of repeated releases, and the time from a Parquet file to an answer.

`python -m bench estimates --peers=FOLDER` runs whichever of `opendp`, `diffprivlib`, `tumult` and `pipelinedp` has an environment of its own
name in the folder (each with `pyarrow`); without a folder only our own figures are printed. Values between 0 and 100 in hundredths, pure
epsilon 0.1. OpenDP and diffprivlib are compared under replace with a public number of rows, Tumult and PipelineDP under add-remove without
one; ours is planned for the same.

Errors are root mean squares over repeated releases of one file in one process, as many of `--releases=200` as fit into `--seconds=120`; 200
releases give them to about 8 %, so that the law stands beside them where it is known: our own from what a release says of itself (of a
median: computed from the law of its selection), theirs where it is plain Laplace noise (of Tumult's mean: of a total and a count) or, for OpenDP's median, from how it selects. Tumult and PipelineDP take minutes for one answer of ten
million rows: they are compared on `--slow_rows=2e4`, as ours is; the error of a mean or variance times the number of rows hardly depends
on that number.

Times are wall time of a fresh process from the file to one answer, imports included, the median of `--repeats=3` (of one for Tumult and
PipelineDP, and of their means alone unless `--slow_times=all`); ours opens a ledger, registers the file, plans, charges and releases, and
says how much of that was spent inside the ledger. `--most=1200` ends a process; `--times=no` or `--errors=no` leave a part out.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench import _peers

STATISTICS = ("mean", "variance", "median")
# From so many releases on a root mean square is known to about a fifth.
ENOUGH = 15
ASKED: dict[str, dict[str, str]] = {
    "mean, noise alone": {"measure": "mean", "error": "noise"},
    "mean with sampling": {"measure": "mean"},
    "variance with sampling": {"measure": "variance"},
    "variance, noise alone": {"measure": "variance", "error": "noise"},
    "median": {"measure": "median"},
}
OURS = """
import json, sys, time
started = time.perf_counter()
import dalenius
from dalenius.ledger import Ledger
from dalenius.ledger.reader import LedgerReader
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.known_files import KnownFiles
inside = {"depth": 0, "seconds": 0.0}
def timed(method):
    def call(*arguments, **named):
        begun, inside["depth"] = time.perf_counter(), inside["depth"] + 1
        try:
            return method(*arguments, **named)
        finally:
            inside["depth"] -= 1
            if not inside["depth"]:
                inside["seconds"] += time.perf_counter() - begun
    return call
for noun in (Ledger, LedgerReader, Declarations, KnownFiles):
    for name, method in list(vars(noun).items()):
        if isinstance(method, type(timed)) and (name == "__init__" or not name.startswith("_")):
            setattr(noun, name, timed(method))
path, asked, ledger, rows = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])
document = {
    "dataset": {"name": "values", "population": "values", "public": True, "size": rows},
    "unit": {"relation": "replace"},
    "variables": {"x": {"bounds": [0, 100], "step": "0.01", "missing": 0}},
}
request = dalenius.table(of="x", epsilon="0.1", **asked)
with dalenius.Curator.open(document, data=path, ledger=ledger) as curator:
    opened = time.perf_counter()
    curator.register(by="bench")
    registered = time.perf_counter()
    value = float(curator.release(request).tables[0].values[0])
    released = time.perf_counter()
parts = {"import and open": opened - started, "register": registered - opened, "release": released - registered}
print(json.dumps({"value": value, **parts, "of these inside the ledger": inside["seconds"]}))
"""


def run(
    quick: bool = False,
    peers: str = "",
    rows: str = "1e7",
    slow_rows: str = "2e4",
    releases: str = "200",
    seconds: str = "120",
    repeats: str = "3",
    slow_times: str = "mean",
    most: str = "1200",
    errors: str = "yes",
    times: str = "yes",
) -> dict[str, object]:
    """Errors and times of ours and of every peer that is installed."""
    size, slow_size = (20_000, 5_000) if quick else (int(float(rows)), int(float(slow_rows)))
    count, wait = (20, 10.0) if quick else (int(releases), float(seconds))
    told: dict[str, Any] = {"rows": size, "rows of Tumult and PipelineDP": slow_size, "releases": count}
    with tempfile.TemporaryDirectory() as folder:
        files = {n: _file(Path(folder), n) for n in (size, slow_size)}
        if errors == "yes":
            told["root mean square errors"] = {
                words: _compared(files[n], n, is_public, count, peers, wait, float(most))
                for words, n, is_public in (("replace, n public", size, True), ("add-remove", slow_size, False))
            }
        if times == "yes":
            slow = STATISTICS if slow_times == "all" else tuple(slow_times.split(","))
            told["seconds of a fresh process"] = _times(
                files[size], size, peers, 1 if quick else int(repeats), slow, float(most)
            )
    return told


def _file(folder: Path, rows: int) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"values-{rows}.parquet"
    x = np.round(np.random.default_rng(rows).beta(1.6, 2.2, rows) * 100, 2)
    pq.write_table(pa.table({"x": x}), path)
    return path


def _compared(
    path: Path, rows: int, is_public: bool, releases: int, peers: str, seconds: float, most: float
) -> dict[str, Any]:
    """Ours and theirs on one file, and ours over the best of theirs: by law where both laws are known, and by releases."""
    import pyarrow.parquet as pq

    x = pq.read_table(path)["x"].to_numpy()
    truth = {"mean": float(x.mean()), "variance": float(x.var(ddof=1)), "median": float(np.median(x))}
    theirs: dict[str, dict[str, Any]] = {statistic: {} for statistic in STATISTICS}
    for name in _peers.installed(peers):
        for statistic in STATISTICS if _peers.IS_PUBLIC[name] is is_public else ():
            answer = _peers.asked(
                peers, name, path, statistic, releases=releases, rows=rows, seconds=seconds, most=most
            )
            figures = theirs[statistic][name] = _figures(answer, truth[statistic])
            if answer.get("choice"):
                steps = np.rint(100 * x).astype(np.int64)
                figures["by law"] = _peers.centre_law(steps, answer["choice"], 100 * truth["median"]) / 100
    ours = _own_errors(path, rows, is_public, releases, truth)
    return {
        name: {"ours": figures, **theirs[_measure(name)], **_ratios(figures, theirs[_measure(name)])}
        for name, figures in ours.items()
    }


def _measure(name: str) -> str:
    return ASKED[name]["measure"]


def _figures(answer: dict[str, Any], truth: float) -> dict[str, Any]:
    if "none" in answer:
        return answer
    figures = {"releases": len(answer["answers"]), "error": _root(np.array(answer["answers"]) - truth)}
    return figures | ({"by law": float(np.sqrt(2) * answer["scale"])} if answer["scale"] else {})


def _root(offs: Any) -> float:
    return float(np.sqrt(np.mean(np.square(offs))))


def _ratios(ours: dict[str, Any], theirs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Ours over the least of theirs, of releases where there are enough; one where nobody was off, and no number where only we were."""
    ratios = {}
    for key, words in (("error", "over the best, by releases"), ("by law", "over the best, by law")):
        known = [each for each in theirs.values() if key in each]
        best = min((each[key] for each in known if key == "by law" or each["releases"] >= ENOUGH), default=None)
        if best is not None and key in ours:
            ratios[words] = round(ours[key] / best, 3) if best else 1.0 if not ours[key] else float("inf")
    return ratios


def _own_errors(
    path: Path, rows: int, is_public: bool, releases: int, truth: dict[str, float]
) -> dict[str, dict[str, Any]]:
    """Repeated releases through plan and gate, from the engine that a curator would open; noise is drawn anew for every one."""
    from verify.scores import law_of

    from dalenius.core.query import ValuesQuery
    from dalenius.core.randomness import RecordedRandomness
    from dalenius.curator import gate
    from dalenius.engines.duckdb import DuckDBSource
    from dalenius.spec.dataset import DatasetDocument
    from dalenius.testing.asking import plan_of

    document = {
        "dataset": {"name": "values", "population": "values", "public": True, "size": rows},
        "unit": {"relation": "replace" if is_public else "add-remove"},
        "variables": {"x": {"bounds": [0, 100], "step": "0.01", "missing": 0}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    source = DuckDBSource(domain, path)
    values = source.values(ValuesQuery(value="x")).open_below_the_gate()
    figures: dict[str, dict[str, Any]] = {}
    for name, table in ASKED.items():
        privacy, true = {"definition": "pure", "epsilon": "0.1"}, truth[_measure(name)]
        plan = plan_of(domain, {"table": {"of": "x", **table}, "privacy": privacy}, {})
        offs, errors = [], []
        for number in range(releases):
            rng = RecordedRandomness(f"{name} {number}")
            passage = gate.run(plan, source, plan.neighbours, plan.reservation, rng)
            shown = plan.assemble(passage.blocks)[0]
            offs.append(float(shown.values[0]) - true)
            errors.append(float(shown.variance[0]))
        if _measure(name) == "median":
            step: Any = plan.measurements[0]
            by_law = float(np.sqrt(law_of(step, values, true * 100)[2])) / 100
        else:
            by_law = float(np.sqrt(np.mean(errors)))
        figures[name] = {"releases": releases, "error": _root(offs), "by law": by_law}
    return figures


def _times(path: Path, rows: int, peers: str, repeats: int, slow: tuple[str, ...], most: float) -> dict[str, Any]:
    times: dict[str, Any] = {"ours": {name: _own_times(path, rows, name, repeats) for name in ASKED}}
    for name in _peers.installed(peers):
        is_fast = _peers.IS_PUBLIC[name]
        times[name] = {}
        for statistic in STATISTICS if is_fast else slow:
            answers = [
                _peers.asked(peers, name, path, statistic, releases=1, rows=rows, seconds=0, most=most)
                for _ in range(repeats if is_fast else 1)
            ]
            told = [answer["seconds"] for answer in answers if "seconds" in answer]
            times[name][statistic] = round(median(told), 2) if told else answers[0]["none"]
    return times


def _own_times(path: Path, rows: int, name: str, repeats: int) -> dict[str, float]:
    """The process whose time is the median one; its parts are its own clock's."""
    runs = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            ledger = str(Path(folder) / "ledger.sqlite")
            started = time.perf_counter()
            arguments = [sys.executable, "-c", OURS, str(path), json.dumps(ASKED[name]), ledger, str(rows)]
            told = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
            runs.append({"whole": time.perf_counter() - started} | json.loads(told))
    middle = sorted(runs, key=lambda each: each["whole"])[len(runs) // 2]
    return {key: round(value, 2) for key, value in middle.items() if key != "value"}
