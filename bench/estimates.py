"""Means, variances and medians beside other libraries: errors of repeated releases, and the time from a Parquet file to an answer.

`python -m bench estimates --peers=FOLDER` runs whichever of `opendp`, `diffprivlib`, `tumult` and `pipelinedp` has an environment of its own
name in the folder (each with `pyarrow`); without a folder only our own figures are printed. Values between 0 and 100 in hundredths, pure
epsilon 0.1. OpenDP and diffprivlib are compared under replace with a public number of rows, Tumult and PipelineDP under add-remove without
one; ours is planned for the same. Errors are root mean squares over repeated releases of one file in one process. Times are wall time of a
fresh process from the file to one answer, imports included; ours opens a ledger, registers the file, plans, charges and releases.
Options: `--rows=1e7`, `--error_rows=1e6`, `--releases=200`, `--slow_releases=5` (of Tumult and PipelineDP), `--seconds=600` for one process.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

STATISTICS = ("mean", "variance", "median")
PUBLIC = {"opendp": True, "diffprivlib": True, "tumult": False, "pipelinedp": False}
_READ = """
import json, sys
path, statistic, releases, rows = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
"""
_ARROW = """
import pyarrow.parquet as pq
x = pq.read_table(path)["x"].to_numpy()
"""
SCRIPTS = {
    "diffprivlib": _READ
    + _ARROW
    + """
from diffprivlib import tools
ask = {"mean": tools.mean, "variance": tools.var, "median": tools.median}[statistic]
print(json.dumps([float(ask(x, epsilon=0.1, bounds=(0, 100))) for _ in range(releases)]))
""",
    "opendp": _READ
    + _ARROW
    + """
import warnings
warnings.simplefilter("ignore")
import numpy as np
import opendp.prelude as dp
x = np.array(x)
dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 100.0)), size=rows), dp.symmetric_distance()
if statistic == "median":
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=rows), dp.symmetric_distance()
    candidates = np.round(np.linspace(0, 100, 10001), 2)
    make = lambda s: space >> dp.m.then_private_quantile(dp.max_divergence(), candidates.tolist(), 0.5, s)
elif statistic == "mean":
    make = lambda s: space >> dp.t.then_mean() >> dp.m.then_laplace(s)
else:
    make = lambda s: space >> dp.t.then_variance() >> dp.m.then_laplace(s)
ask = dp.binary_search_chain(make, d_in=2, d_out=0.1, T=float)
print(json.dumps([float(ask(x)) for _ in range(releases)]))
""",
    "tumult": _READ
    + """
import os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
session = Session.from_dataframe(PureDPBudget(float("inf")), "t", spark.read.parquet(path), protected_change=AddOneRow())
name = {"mean": "average", "variance": "variance", "median": "median"}[statistic]
query = getattr(QueryBuilder("t"), name)("x", 0, 100)
print(json.dumps([float(session.evaluate(query, PureDPBudget(0.1)).collect()[0][0]) for _ in range(releases)]))
spark.stop()
""",
    "pipelinedp": _READ
    + _ARROW
    + """
import pipeline_dp as p
kinds = {"mean": p.Metrics.MEAN, "variance": p.Metrics.VARIANCE, "median": p.Metrics.PERCENTILE(50)}
rows = list(enumerate(x.tolist()))
def ask():
    accountant = p.NaiveBudgetAccountant(total_epsilon=0.1, total_delta=0)
    engine = p.DPEngine(accountant, p.LocalBackend())
    params = p.AggregateParams(metrics=[kinds[statistic]], noise_kind=p.NoiseKind.LAPLACE, max_partitions_contributed=1,
        max_contributions_per_partition=1, min_value=0, max_value=100)
    extract = p.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: 0, value_extractor=lambda r: r[1])
    result = engine.aggregate(rows, params, extract, public_partitions=[0])
    accountant.compute_budgets()
    return float(list(result)[0][1][0])
print(json.dumps([ask() for _ in range(releases)]))
""",
}
OURS = """
import json, sys, time
started = time.perf_counter()
import dalenius
path, statistic, ledger, rows, is_public = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "True"
document = {
    "dataset": {"name": "values", "population": "values", "public": True} | ({"size": rows} if is_public else {}),
    "unit": {"relation": "replace" if is_public else "add-remove"},
    "variables": {"x": {"bounds": [0, 100], "step": "0.01", "missing": 0}},
}
more = {"mean": {"error": "noise"}, "mean with sampling": {"error": "sampling"}}.get(statistic, {})
request = dalenius.table(measure=statistic.split()[0], of="x", epsilon="0.1", **more)
with dalenius.Curator.open(document, data=path, ledger=ledger) as curator:
    opened = time.perf_counter()
    curator.register(by="bench")
    registered = time.perf_counter()
    value = float(curator.release(request).tables[0].values[0])
    released = time.perf_counter()
print(json.dumps({"value": value, "import and open": opened - started, "register": registered - opened, "release": released - registered}))
"""


def run(
    quick: bool = False,
    peers: str = "",
    rows: str = "1e7",
    error_rows: str = "1e6",
    releases: str = "200",
    slow_releases: str = "5",
    seconds: str = "600",
) -> dict[str, object]:
    """Errors and times of ours and of every peer that is installed."""
    sizes = [10_000, 10_000] if quick else [int(float(rows)), int(float(error_rows))]
    count = 20 if quick else int(releases)
    installed = [name for name in SCRIPTS if peers and (Path(peers) / name / "bin" / "python").exists()]
    with tempfile.TemporaryDirectory() as folder:
        timed, repeated = (_file(Path(folder), size) for size in sizes)
        truth = _truths(repeated)
        errors: dict[str, Any] = {
            f"ours, {'replace, n public' if known else 'add-remove'}": _own_errors(
                repeated, known, count, truth
            )
            for known in (True, False)
        }
        times: dict[str, Any] = {"ours": _own_times(timed, sizes[0])}
        for name in installed:
            python = str(Path(peers) / name / "bin" / "python")
            many = count if PUBLIC[name] else int(slow_releases)
            errors[name] = {
                each: _peer_error(python, name, repeated, each, many, sizes[1], truth[each], float(seconds))
                for each in STATISTICS
            }
            times[name] = {
                each: _peer_time(python, name, timed, each, sizes[0], float(seconds)) for each in STATISTICS
            }
    return {
        "rows timed, rows of errors": sizes,
        "root mean square errors": errors,
        "seconds of a fresh process": times,
    }


def _file(folder: Path, rows: int) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"values-{rows}.parquet"
    x = np.round(np.random.default_rng(rows).beta(1.6, 2.2, rows) * 100, 2)
    pq.write_table(pa.table({"x": x}), path)
    return path


def _truths(path: Path) -> dict[str, float]:
    import pyarrow.parquet as pq

    x = pq.read_table(path)["x"].to_numpy()
    return {"mean": float(x.mean()), "variance": float(x.var(ddof=1)), "median": float(np.median(x))}


class _Remembered:
    """A source that reads its rows once for each question; noise is drawn anew for every release."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._answers: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._source, name)
        if name not in ("table", "values"):
            return asked

        def answer(query: Any) -> Any:
            if query not in self._answers:
                self._answers[query] = asked(query)
            return self._answers[query]

        return answer


def _own_errors(path: Path, is_public: bool, releases: int, truth: dict[str, float]) -> dict[str, float]:
    """Repeated releases through plan and gate, on rows that are read once."""
    import pyarrow.parquet as pq

    from dalenius.core.randomness import RecordedRandomness
    from dalenius.curator import gate
    from dalenius.engines.memory import MemorySource
    from dalenius.spec.dataset import DatasetDocument
    from dalenius.testing.asking import plan_of

    x = pq.read_table(path)["x"]
    document = {
        "dataset": {"name": "values", "population": "values", "public": True, "size": len(x)},
        "unit": {"relation": "replace" if is_public else "add-remove"},
        "variables": {"x": {"bounds": [0, 100], "step": "0.01", "missing": 0}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    source: Any = _Remembered(MemorySource.of(domain, {"x": x.to_numpy()}))
    asked: dict[str, dict[str, Any]] = {
        "mean": {"measure": "mean", "error": "sampling"},
        "mean, noise alone": {"measure": "mean", "error": "noise"},
        "mean, moments together": {"measure": "mean", "error": "sampling", "moments": "together"},
        "variance": {"measure": "variance"},
        "median": {"measure": "median"},
    }
    found = {}
    for name, table in asked.items():
        if "moments" in table and not is_public:
            continue
        privacy = {"definition": "pure", "epsilon": "0.1"}
        plan = plan_of(domain, {"table": {"of": "x", **table}, "privacy": privacy}, {})
        offs = []
        for number in range(releases):
            rng = RecordedRandomness(f"{name} {number}")
            passage = gate.run(plan, source, plan.neighbours, plan.reservation, rng)
            offs.append(float(plan.assemble(passage.blocks)[0].values[0]) - truth[name.split(",")[0]])
        found[name] = float(np.sqrt(np.mean(np.square(offs))))
    return found


def _own_times(path: Path, rows: int) -> dict[str, Any]:
    """A fresh process each; the parts of it are its own clock's."""
    times: dict[str, Any] = {}
    for statistic in ("mean", "mean with sampling", "variance", "median"):
        with tempfile.TemporaryDirectory() as folder:
            ledger = str(Path(folder) / "ledger.sqlite")
            started = time.perf_counter()
            arguments = [sys.executable, "-c", OURS, str(path), statistic, ledger, str(rows), "True"]
            told = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
            parts = json.loads(told)
            whole = time.perf_counter() - started
        times[statistic] = {"whole": round(whole, 2)} | {
            k: round(v, 2) for k, v in parts.items() if k != "value"
        }
    return times


def _asked(
    python: str, name: str, path: Path, statistic: str, releases: int, rows: int, seconds: float
) -> list[float] | str:
    arguments = [python, "-c", SCRIPTS[name], str(path), statistic, str(releases), str(rows)]
    try:
        told = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {seconds:g} s"
    if told.returncode:
        return f"failed: {told.stderr.strip().splitlines()[-1][:200] if told.stderr.strip() else told.returncode}"
    answers: list[float] = json.loads(told.stdout.strip().splitlines()[-1])
    return answers


def _peer_error(
    python: str,
    name: str,
    path: Path,
    statistic: str,
    releases: int,
    rows: int,
    truth: float,
    seconds: float,
) -> float | str:
    answers = _asked(python, name, path, statistic, releases, rows, seconds)
    return answers if isinstance(answers, str) else float(np.sqrt(np.mean((np.array(answers) - truth) ** 2)))


def _peer_time(python: str, name: str, path: Path, statistic: str, rows: int, seconds: float) -> float | str:
    started = time.perf_counter()
    answers = _asked(python, name, path, statistic, 1, rows, seconds)
    return answers if isinstance(answers, str) else round(time.perf_counter() - started, 2)
