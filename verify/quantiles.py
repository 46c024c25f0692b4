"""Quantiles: how far selected ranks and values are off, and coverage of the intervals of medians and deciles.

Claim, fixed before the first run. The sample median of 1,000 normal values on [-100, 100] in steps of .001 at epsilon .2 under
add-remove, selected alone (`method = "exponential"`): median absolute error at most .0110, root mean square at most .021. Deciles of 20,000
lognormal incomes in [0, 10^6] at epsilon 1 with the error of the noise: mean rank error at most 16 under add-remove, and at most twice that
under replace. An interval covers if it holds a v with #{x < v} <= q n <= #{x <= v}, and with sampling if it holds the quantile of the process.
Intervals at 95 % of medians and deciles, rho .1 and epsilon 1, both relations, on normal values and incomes in hundredths of a unit, ages in whole
years, hourly earnings of which three fifths stand on whole and half amounts in steps of .0001, incomes that are zero for 45 % and whole hundreds
elsewhere, and even numbers on a grid of 10^6 points, at n = 500 and 8,000: in no setting a binomial test at .0005 rejects 94.5 %, for the
noise or with sampling. The same for medians and quartiles of every public file with money, hours, ages or body-mass indices (samples of 1,000 and of
8,000 records with replacement; with sampling against the file's own quantile). With sampling, the median of n = 8,000 even numbers at rho .02
has an interval of on average at most 1.7 times the width of that of order statistics without noise, under both relations. Of all runs 100, spread
over their settings, are registered, charged and released through a ledger on disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.algebra.estimates import estimated
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Value
from dalenius.core.sealed import Sealed
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from verify._books import Books, share_of
from verify.estimates import BOUNDS as SMOOTH
from verify.estimates import BUDGETS, THROUGH_THE_LEDGER

SIZES, RUNS = (500, 8_000), 300
BOUNDS = SMOOTH | {"earnings": (0, 200), "zeros": (0, 500_000), "even": (0, 10**6)}
STEPS = {"normal": "0.01", "ages": "1", "income": "0.01", "earnings": "0.0001", "zeros": "1", "even": "1"}
LEAST, LEVEL = 0.945, 0.0005
FOLDER = Path(__file__).parents[2] / "shared" / "data"
# File, column, declared bounds and step.
FILES: tuple[tuple[str, str, tuple[int, int], str], ...] = (
    ("pums2000_california_10000.csv", "income", (-10_000, 750_000), "1"),
    ("acs2012_openintro_2000.csv", "income", (0, 500_000), "1"),
    ("acs2012_openintro_2000.csv", "hrs_work", (0, 100), "1"),
    ("adult_census1994.csv.gz", "hours_per_week", (1, 99), "1"),
    ("cps_tax_units_2013_2014.parquet", "wages", (0, 3_000_000), "1"),
    ("nafld_patients_17549.csv.gz", "bmi", (0, 100), "0.0001"),
    ("ricefarms.csv", "wage", (0, 500), "0.01"),
)
QUANTILES: dict[str, dict[str, Any]] = {"median": {"q": ["1/2"]}, "deciles": {"q": 10}, "quartiles": {"q": 4}}
SIMULATED, PUBLIC = ("median", "deciles"), ("median", "quartiles")


def declared(bounds: list[Any], step: str, n: int, relation: str) -> dict[str, Any]:
    """The declaration of one number."""
    return {
        "dataset": {"name": "simulated", "population": "simulated", "size": n, "public": True},
        "unit": {"relation": relation},
        "variables": {"x": {"bounds": bounds, "step": step, "missing": max(int(bounds[0]), 0)}},
    }


def planned(table: dict[str, Any], bounds: list[Any], step: str, n: int, relation: str, privacy: Any) -> TablePlan:
    """The plan of a request on one number."""
    domain = DatasetDocument.from_dict(declared(bounds, step, n, relation)).domain()
    return plan_of(domain, {"table": {"of": "x", **table}, "privacy": dict(privacy)}, {})


def answered(plan: TablePlan, values: np.ndarray, rng: RecordedRandomness) -> tuple[Block, ...]:
    """Every step of a plan on one list, as the gate drives it."""
    steps, blocks = plan.steps(), []
    step = next(steps)
    while step is not None:
        exact = Sealed(np.array([len(values)]) if step.name == "count" else values)
        outcome = step.run((exact,), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        blocks.append(step.block(outcome))
        try:
            step = steps.send(outcome)
        except StopIteration:
            break
    return tuple(blocks)


def median_error(runs: int) -> dict[str, float]:
    """Of the sample median, by the measure `median`."""
    plan = planned(
        {"measure": "median", "method": "exponential"},
        [-100, 100],
        "0.001",
        1000,
        "add-remove",
        {"definition": "pure", "epsilon": "0.2"},
    )
    rng, draws, errors = RecordedRandomness("median"), np.random.default_rng(20), []
    for _ in range(runs):
        values = np.sort(np.clip(np.rint(draws.standard_normal(1000) * 1000), -100_000, 100_000).astype(np.int64))
        (block,) = answered(plan, values, rng)
        errors.append(abs(int(block.values[0]) - (values[499] + values[500]) / 2) / 1000)
    return {
        "runs": runs,
        "median absolute error": float(np.median(errors)),
        "root mean square": float(np.sqrt(np.mean(np.square(errors)))),
    }


def rank_error(relation: str, runs: int) -> float:
    """Mean distance in ranks of released deciles."""
    n = 20_000
    plan = planned(
        {"measure": "quantiles", "q": 10, "error": "noise"},
        [0, 10**6],
        "1",
        n,
        relation,
        {"definition": "pure", "epsilon": 1},
    )
    rng, draws, offs = RecordedRandomness("deciles"), np.random.default_rng(21), []
    for _ in range(runs):
        values = np.sort(np.clip(np.rint(np.exp(draws.normal(10, 0.8, n))), 0, 10**6).astype(np.int64))
        found = estimated(plan.law, answered(plan, values, rng), 9).values  # type: ignore[arg-type]
        offs.append(np.abs(np.searchsorted(values, found) - n * np.arange(1, 10) / 10).mean())
    return float(np.mean(offs))


def files() -> dict[str, tuple[tuple[int, int], str]]:
    """Columns of the public files that are here, with declared bounds and step."""
    return {f"{file} {column}": (bounds, step) for file, column, bounds, step in FILES if (FOLDER / file).exists()}


def population(law: str) -> np.ndarray:
    """Values in steps of a process that is no smooth curve, or of a public file."""
    rng, n = np.random.default_rng(23), 400_000
    if law == "earnings":
        exact = np.exp(rng.normal(np.log(14.9), 0.4, n))
        return np.asarray(np.rint(10_000 * np.where(rng.random(n) < 0.6, np.rint(2 * exact) / 2, exact)))
    if law == "zeros":
        return np.where(rng.random(n) < 0.45, 0.0, 100 * np.rint(np.exp(rng.normal(10, 0.8, n)) / 100))
    if law == "even":
        return np.arange(10**6 + 1)
    import duckdb

    file, _, column = law.partition(" ")
    query = f"select {column} from '{FOLDER / file}' where {column} is not null"
    read = duckdb.connect().execute(query).fetchnumpy()[column]
    return np.rint(np.asarray(read, dtype=np.float64) / float(files()[law][1]))


@cache
def masses(law: str) -> tuple[np.ndarray, np.ndarray]:
    """Grid points in steps, and the probability of each under the process, rounded and cut at the bounds."""
    from scipy.stats import beta, lognorm, norm

    (low, high), step = files()[law] if law not in BOUNDS else (BOUNDS[law], STEPS[law])
    parts = round(1 / float(step))
    if law not in SMOOTH:
        points, counts = np.unique(np.clip(population(law), low * parts, high * parts), return_counts=True)
        return points.astype(np.int64), counts / counts.sum()
    points = np.arange(low * parts, high * parts + 1)
    at = {"normal": norm(0, 100), "ages": beta(1.6, 2.2, scale=100), "income": lognorm(0.8, scale=1000)}[law]
    inner = at.cdf((points[:-1] + 0.5) / parts)
    return points, np.diff(np.concatenate([[0.0], inner, [1.0]]))


def samples(law: str, n: int, runs: int, seed: int) -> Iterator[np.ndarray]:
    """Sorted samples in steps: ordered uniform numbers are sums of exponential ones over their total."""
    points, chances = masses(law)
    rng, below = np.random.default_rng([seed, n, len(law)]), np.cumsum(chances)
    for _ in range(runs):
        sums = np.cumsum(rng.standard_exponential(n + 1))
        yield points[np.minimum(np.searchsorted(below, sums[:-1] / sums[-1]), len(points) - 1)]


def textbook(values: np.ndarray, q: float) -> tuple[float, float]:
    """The interval of order statistics of a sample, nominal 95 %."""
    n, reach = len(values), 1.959964 * sqrt(len(values) * q * (1 - q))
    low, high = (round(n * q + sign * reach) for sign in (-1, 1))
    return float(values[max(low - 1, 0)]), float(values[min(high, n - 1)])


@dataclass
class Tally:
    """A setting's plan and noise, and what its intervals held so far; the first samples go through the ledger."""

    setting: str
    plan: TablePlan
    rng: RecordedRandomness
    truth: np.ndarray
    shares: list[float]
    books: Books
    asked: tuple[dict[str, Any], dict[str, Any]]
    through: int
    held: list[Any] = field(default_factory=list)

    def ends(self, values: np.ndarray, step: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """The intervals of one sample with sampling, and of the noise alone."""
        if len(self.held) < self.through:
            release = self.books.released({"x": values * step}, *self.asked)
            told = [release.interval(0.95, with_sampling=with_sampling) for with_sampling in (True, False)]
            return [(lower.reshape(-1), upper.reshape(-1)) for lower, upper in told]
        made = estimated(self.plan.law, answered(self.plan, values, self.rng), len(self.shares))  # type: ignore[arg-type]
        return [made.ends(0.95, is_sampling) for is_sampling in (True, False)]

    def add(self, values: np.ndarray, step: float) -> None:
        """One sample; an interval of the noise holds if it holds a value that is a quantile of these records."""
        qs, truth, n = np.array(self.shares), self.truth, len(values)
        least = step * values[np.ceil(qs * n - 1e-9).astype(np.int64) - 1]
        most = step * values[np.minimum(np.floor(qs * n + 1e-9).astype(np.int64), n - 1)]
        ends = step * np.array([textbook(values, q) for q in self.shares]).T
        (a, b), (c, d) = self.ends(values, step)
        near = step / 4
        inside = [
            (a <= truth + near) & (truth <= b + near),
            (c <= most + near) & (least <= d + near),
            (ends[0] <= truth) & (truth <= ends[1]),
        ]
        width = (b - a).mean() / max((ends[1] - ends[0]).mean(), step)
        self.held.append([*(float(each.mean()) for each in inside), width])

    def row(self) -> dict[str, Any]:
        """Coverage; quantiles of one run depend on each other, so that a run counts once."""
        runs, (both, noise, clean, width) = len(self.held), np.mean(self.held, axis=0).tolist()
        tests = [binomtest(round(share * runs), runs, LEAST, alternative="less").pvalue for share in (both, noise)]
        return {"sampling": both, "noise": noise, "textbook": clean, "width": width, "ok": bool(min(tests) >= LEVEL)}


def tallies(law: str, n: int, runs: int, seed: int, books: Books, through: int) -> list[Tally]:
    """Every setting of one process and size, on the same samples; `through` samples of medians and of deciles go through the ledger."""
    points, chances = masses(law)
    bounds, text = files()[law] if law not in BOUNDS else (BOUNDS[law], STEPS[law])
    step, below, kept = float(text), np.cumsum(chances), []
    settings = list(product(("add-remove", "replace"), BUDGETS))
    names = SIMULATED if law in BOUNDS else PUBLIC
    for name, (place, (relation, budget)) in product(names, enumerate(settings)):
        table = {"measure": "quantiles", **QUANTILES[name]}
        plan = planned(table, list(bounds), text, n, relation, BUDGETS[budget])
        shares = [float(Fraction(q)) for q in plan.law.parameters["q"]]  # type: ignore[union-attr]
        truth = step * points[np.searchsorted(below, np.array(shares) - 1e-12)]
        setting = f"{name}, {law}, {n}, {relation}, {budget}"
        asked = (declared(list(bounds), text, n, relation), {"table": {"of": "x", **table}, "privacy": BUDGETS[budget]})
        rng, first = RecordedRandomness(f"{setting} {seed}"), share_of(through, len(settings), place)
        kept.append(Tally(setting, plan, rng, truth, shares, books, asked, first))
    for values in samples(law, n, runs, seed):
        for each in kept:
            each.add(values, step)
    return kept


def width_beside_textbook(relation: str, runs: int) -> float:
    """Mean width with sampling of the median of 8,000 even numbers at rho .02, in widths of order statistics without noise."""
    n, rng = 8_000, RecordedRandomness(f"width {relation}")
    budget = {"definition": "zero_concentrated", "rho": "0.02"}
    plan = planned({"measure": "median"}, list(BOUNDS["even"]), "1", n, relation, budget)
    widths = []
    for values in samples("even", n, runs, 24):
        lower, upper = estimated(plan.law, answered(plan, values, rng), 1).ends(0.95, True)  # type: ignore[arg-type]
        low, high = textbook(values, 0.5)
        widths.append([float(upper[0] - lower[0]), high - low])
    both = np.mean(widths, axis=0)
    return float(both[0] / both[1])


def run(quick: bool = False, seed: int = 22) -> dict[str, Any]:
    """Errors, widths and coverage."""
    median = median_error(100 if quick else 2000)
    relations = ("add-remove", "replace")
    ranks = {relation: rank_error(relation, 5 if quick else 100) for relation in relations}
    widths = {relation: width_beside_textbook(relation, 40 if quick else 400) for relation in relations}
    rows: dict[str, list[dict[str, Any]]] = {}
    rejected, laws = [], ["earnings", "zeros"] if quick else [*BOUNDS, *files()]
    places = [(law, n) for law in laws for n in ((500,) if quick else SIZES if law in BOUNDS else (1_000, 8_000))]
    with Books() as books:
        for place, (law, n) in enumerate(places):
            through = share_of(0 if quick else THROUGH_THE_LEDGER, len(places), place)
            for tally in tallies(law, n, 30 if quick else RUNS, seed, books, through):
                row = tally.row()
                rows.setdefault(f"{tally.setting.split(', ')[0]}, {law}", []).append(row)
                if not row["ok"]:
                    rejected.append({"setting": tally.setting} | row)
        released = books.releases
    summary = {
        name: {
            f"{kind}, {what}": float(of([row[kind] for row in each]))
            for kind in ("textbook", "sampling", "noise")
            for what, of in (("mean", np.mean), ("least", np.min))
        }
        | {"widest beside the textbook": max(row["width"] for row in each)}
        for name, each in rows.items()
    }
    is_close = median["median absolute error"] <= 0.0110 and median["root mean square"] <= 0.021
    is_near = ranks["add-remove"] <= 16 and ranks["replace"] <= 32
    is_short = max(widths.values()) <= 1.7
    return {
        "median": median,
        "mean rank error of deciles": ranks,
        "width with sampling beside order statistics": widths,
        "runs through the ledger": released,
        "coverage": summary,
        "rejected settings": rejected,
        "ok": not rejected and is_short and (quick or (is_close and is_near)),
    }
