"""How other libraries are asked for a mean, a variance or a median, each in an environment of its own.

Every script reads a Parquet file, answers until it has given as many releases as were asked for or its seconds are over (at least one), and
prints its answers with the scale of its noise where that is plain Laplace noise, or exponential noise on scores of candidates.
"""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

# Whether the number of rows is public, and rows are replaced; or it is not, and they are added and removed.
IS_PUBLIC = {"opendp": True, "diffprivlib": True, "tumult": False, "pipelinedp": False}
_BEGIN = """
import json, sys, time
path, statistic, releases, rows, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
scale = choice = None
"""
_READ = """
import pyarrow.parquet as pq
x = pq.read_table(path)["x"].to_numpy()
"""
_END = """
answers, started = [], time.perf_counter()
while not answers or (len(answers) < releases and time.perf_counter() - started < seconds):
    answers.append(float(ask()))
print(json.dumps({"answers": answers, "scale": scale, "choice": choice}))
"""
_BODIES = {
    "diffprivlib": _READ
    + """
from diffprivlib import tools
named = {"mean": tools.mean, "variance": tools.var, "median": tools.median}[statistic]
# Variances have noise of a bounded domain, which is wider.
scale = {"mean": 100 / rows / 0.1}.get(statistic)
ask = lambda: named(x, epsilon=0.1, bounds=(0, 100))
""",
    "opendp": _READ
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
found = dp.binary_search_param(make, d_in=2, d_out=0.1, T=float)
scale, choice = (None, found) if statistic == "median" else (found, None)
asked = make(found)
ask = lambda: asked(x)
""",
    "tumult": """
import os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
session = Session.from_dataframe(PureDPBudget(float("inf")), "t", spark.read.parquet(path), protected_change=AddOneRow())
name = {"mean": "average", "variance": "variance", "median": "median"}[statistic]
query = getattr(QueryBuilder("t"), name)("x", 0, 100)
ask = lambda: session.evaluate(query, PureDPBudget(0.1)).collect()[0][0]
if statistic == "mean" and releases > 1:
    # The total about the middle and the count have noise of these scales, as it says itself; their quotient is off by both.
    total, count = (each["noise_parameter"] for each in session._noise_info(query, PureDPBudget(0.1)))
    middle = spark.read.parquet(path).agg({"x": "avg"}).collect()[0][0] - 50
    scale = (total**2 + (middle * count) ** 2) ** 0.5 / rows
""",
    "pipelinedp": _READ
    + """
import pipeline_dp as p
kinds = {"mean": p.Metrics.MEAN, "variance": p.Metrics.VARIANCE, "median": p.Metrics.PERCENTILE(50)}
listed = list(enumerate(x.tolist()))
def ask():
    accountant = p.NaiveBudgetAccountant(total_epsilon=0.1, total_delta=0)
    engine = p.DPEngine(accountant, p.LocalBackend())
    params = p.AggregateParams(metrics=[kinds[statistic]], noise_kind=p.NoiseKind.LAPLACE, max_partitions_contributed=1,
        max_contributions_per_partition=1, min_value=0, max_value=100)
    extract = p.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: 0, value_extractor=lambda r: r[1])
    result = engine.aggregate(listed, params, extract, public_partitions=[0])
    accountant.compute_budgets()
    return list(result)[0][1][0]
""",
}


def centre_law(values: Any, scale: float, true: float) -> float:
    """Root mean square error of the candidate, in steps, whose centre of records is nearest to the middle plus exponential noise.

    That is OpenDP's choice: of the candidates whose coins fall on heads, with chances exp(-score / scale) beside the best, each is as likely.
    """
    points, counts = np.arange(10_001), np.bincount(values, minlength=10_001)
    upto = np.cumsum(counts)
    scores = np.abs(2 * upto - counts - len(values)) / 2
    heads = np.exp(-(scores - scores.min()) / scale)
    near = heads > 1e-18
    nodes, weights = np.polynomial.legendre.leggauss(400)
    # A candidate is chosen at the time at which it comes if no coin of an earlier one fell on heads.
    alone = np.log1p(-np.outer((nodes + 1) / 2, heads[near]) * (1 - 1e-15))
    none = np.exp(alone.sum(axis=1)[:, None] - alone)
    chances = heads[near] * (weights / 2 @ none)
    return float(np.sqrt(chances @ (points[near] - true) ** 2 / chances.sum()))


def python_of(folder: str, name: str) -> Path:
    """The interpreter of a peer's environment."""
    return Path(folder) / name / "bin" / "python"


def installed(folder: str) -> list[str]:
    """The peers that have an environment in the folder."""
    return [name for name in IS_PUBLIC if folder and python_of(folder, name).exists()]


def asked(
    folder: str, name: str, path: Path, statistic: str, *, releases: int, rows: int, seconds: float, most: float
) -> dict[str, Any]:
    """Answers of a fresh process, the scale of its noise where it is plain, and its wall time; or why there are none."""
    script = _BEGIN + _BODIES[name] + _END
    arguments = [str(python_of(folder, name)), "-c", script, *map(str, (path, statistic, releases, rows, seconds))]
    started = time.perf_counter()
    try:
        # What a peer leaves behind stays beside the file, in a folder that is taken away.
        told = subprocess.run(arguments, capture_output=True, text=True, timeout=most, check=False, cwd=path.parent)
    except subprocess.TimeoutExpired:
        return {"none": f"more than {most:g} s"}
    whole = time.perf_counter() - started
    if told.returncode:
        lines = told.stderr.strip().splitlines() or [str(told.returncode)]
        return {"none": f"failed: {lines[-1][:200]}"}
    answer: dict[str, Any] = json.loads(told.stdout.strip().splitlines()[-1])
    return answer | {"seconds": whole}
