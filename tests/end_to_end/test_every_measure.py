"""Every measure that can be asked says the truth of a public file: each number lies in its interval, and a wrong one does not.

The truth is worked out from the rows by hand. Intervals have level 1 - 1e-6 and budgets are large; where a release states no
error, the answer is held to what its noise allows but for 1e-6 (the sensitivity at the data is worked out here as well). A
measure without an entry here, or in its own test, fails, so that a new one cannot be forgotten. The noise is recorded: the tests
never flicker.
"""

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dalenius.algebra import tabulation
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release, Table
from dalenius.curator.curator import Curator

FILE = Path(__file__).parents[3] / "shared" / "data" / "pums2000_california_10000.csv"
LEVEL = 1 - 1e-6
# -log of the probability that a check may fail by noise that is as it should be.
RARE = log(1e6)
SUMMED = {"definition": "zero_concentrated", "rho": 12}
CHOSEN = {"definition": "pure", "epsilon": 20}
ACTUAL_DATA = {"definition": "individual", "epsilon": 20}
POLICY = {
    "budget": {"rho": 1000, "delta": "0.1"},
    "allow": {
        "acknowledge": ["fixed_weights", "individual"],
        "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
    },
    "floors": {"individual": 1},
}
SCHOOLS = [str(code) for code in range(1, 17)]
DATASET = {
    "dataset": {"name": "pums", "population": "pums", "public": True},
    "variables": {
        "sex": {"categories": ["0", "1"]},
        "latino": {"categories": ["0", "1"]},
        "married": {"categories": ["0", "1"]},
        "educ": {"categories": SCHOOLS},
        "age": {"bounds": [0, 100], "step": 1},
        "income": {"bounds": [0, 200_000], "step": 1000},
        "weight": {"column": "educ", "bounds": [0, 16], "step": 1, "weight": True},
        "puma": {"categories": ["none"], "unseen": "none", "missing": "none", "unlisted": True},
    },
}
Numbers = NDArray[np.float64]
Cells = Mapping[tuple[str, ...], float]


class Asked:
    """One registered file: what it is asked, and the rows by which answers are judged."""

    def __init__(self, folder: Path) -> None:
        self.curator = Curator.open(
            DATASET, data=FILE, ledger=folder / "ledger.sqlite", policy=POLICY, rng=RecordedRandomness("measures")
        )
        self.curator.register(by="custodian")
        with FILE.open(newline="") as stream:
            self.rows = list(csv.DictReader(stream))

    def __call__(self, measure: str, privacy: Mapping[str, Any], **table: Any) -> Release:
        request = {"table": {"measure": measure, **table}, "privacy": dict(privacy)}
        release = self.curator.release(request)
        assert self.curator.plan(request).reservation.to_dict() == dict(release.provenance.cost)
        return release

    @cached_property
    def age(self) -> Numbers:
        return np.clip([float(row["age"]) for row in self.rows], 0, 100)

    @cached_property
    def income(self) -> Numbers:
        """On the declared grid of thousands, halves to the even one."""
        return np.clip(np.rint([float(row["income"]) / 1000 for row in self.rows]) * 1000, 0, 200_000)

    @cached_property
    def weight(self) -> Numbers:
        return np.array([float(row["educ"]) for row in self.rows])

    def column(self, name: str) -> NDArray[np.str_]:
        return np.array([row[name] for row in self.rows])

    def cells(self, numbers: Numbers, *axes: str, kept: NDArray[np.bool_] | None = None) -> Cells:
        """Sums by the values of some columns."""
        inside = np.ones(len(numbers), dtype=np.bool_) if kept is None else kept
        texts = np.array(["|".join(row[name] for name in axes) for row in self.rows])[inside]
        found, places = np.unique(texts, return_inverse=True)
        sums = np.bincount(places, weights=numbers[inside])
        return {tuple(cell.split("|") if axes else ()): float(n) for cell, n in zip(found, sums, strict=True)}


def covers(release: Release, table: Table, truth: Cells) -> bool:
    """Whether every cell's interval holds its number; a cell that the truth does not name is a true zero."""
    lower, upper = tabulation.bounds(release, table, LEVEL)
    cells = table.space.labels() or [()]
    exact = np.array([truth.get(tuple(cell), 0.0) for cell in cells])
    slack = 1e-9 * (1 + np.abs(exact))
    return set(truth) <= set(cells) and bool(((lower - slack <= exact) & (exact <= upper + slack)).all())


def says(release: Release, truth: float, *wrong: float) -> bool:
    """Whether the only number's interval holds the true one, and none of the wrong ones."""
    (lower,), (upper,) = tabulation.bounds(release, release.table, LEVEL)
    return bool(lower <= truth <= upper) and not any(lower <= other <= upper for other in wrong)


def listed(release: Release, truths: Callable[..., Cells], wrong: Callable[..., Cells], measure: str) -> None:
    """Every table of a list with this measure, against the truth of its own axes."""
    tables = [table for table in release.tables if table.measure == measure]
    assert len(tables) >= 3
    for table in tables:
        axes = [axis.variable for axis in table.space.axes]
        assert covers(release, table, truths(*axes)), (measure, axes)
        assert not covers(release, table, wrong(*axes)), (measure, axes)


def counted(ask: Asked) -> None:
    """Along margins, of records of their own; a secret sample; weights; two waves; a group."""
    one, old = np.ones(len(ask.age)), ask.age >= 40
    lists = {"rows": ["sex", "latino", "educ"], "margins": [["educ"], ["sex", "latino"], []]}
    privacy = {"definition": "approximate", "epsilon": 10, "delta": "1e-6"}
    found = ask("count", privacy, **lists, universe="own", where={"age": {"at_least": 40}})
    listed(found, lambda *a: ask.cells(one, *a, kept=old), lambda *a: ask.cells(one, *a), "count")
    schools, squares = ask.cells(one, "educ"), ask.cells(ask.weight**2, "educ")
    for key in ({"group": 2}, {"waves": 2}):
        plain = ask("count", CHOSEN | key, rows=["educ"])
        assert covers(plain, plain.table, schools)
        assert not covers(plain, plain.table, ask.cells(one / 2, "educ"))
    sampled = ask("count", CHOSEN, rows=["educ"], sample="1/2")
    assert covers(sampled, sampled.table, schools)
    assert not covers(sampled, sampled.table, ask.cells(one / 2, "educ"))
    weighed = ask("count", SUMMED, rows=["educ"], weight="weight")
    assert covers(weighed, weighed.table, ask.cells(ask.weight, "educ"))
    assert not covers(weighed, weighed.table, schools) and not covers(weighed, weighed.table, squares)


def persons(ask: Asked) -> None:
    """Each record is a person in this file."""
    schools = ask.cells(np.ones(len(ask.age)), "educ")
    plain = ask("persons", CHOSEN, rows=["educ"])
    assert covers(plain, plain.table, schools)
    assert not covers(plain, plain.table, {cell: count / 2 for cell, count in schools.items()})


def summed(ask: Asked) -> None:
    lists = {"rows": ["sex", "latino"], "margins": "all", "universe": "complete"}
    found = ask("total", SUMMED, of="age", **lists)
    years, one = ask.age, np.ones(len(ask.age))
    listed(found, lambda *a: ask.cells(years, *a), lambda *a: ask.cells(one, *a), "total")
    weighed = ask("total", SUMMED, of="age", rows=["sex"], weight="weight")
    assert covers(weighed, weighed.table, ask.cells(ask.weight * years, "sex"))
    assert not covers(weighed, weighed.table, ask.cells(years, "sex"))


def averaged(ask: Asked) -> None:
    def of(values: Numbers, by: Numbers) -> Callable[..., Cells]:
        def means(*axes: str) -> Cells:
            over = ask.cells(by, *axes)
            return {cell: total / over[cell] for cell, total in ask.cells(values * by, *axes).items()}

        return means

    one = np.ones(len(ask.age))
    lists = {"rows": ["sex", "latino"], "margins": "all", "universe": "complete"}
    found = ask("mean", SUMMED, of="age", **lists)
    listed(found, of(ask.age, one), of(ask.age, ask.weight), "mean")
    listed(found, lambda *a: ask.cells(one, *a), lambda *a: ask.cells(one / 2, *a), "count")
    weighed = ask("mean", SUMMED, of="age", rows=["sex"], weight="weight")
    assert covers(weighed, weighed.table, of(ask.age, ask.weight)("sex"))
    assert not covers(weighed, weighed.table, of(ask.age, one)("sex"))


def ranked(ask: Asked, chosen: float, q: float, *, numbers: Numbers | None = None) -> bool:
    """Whether a selected value is at its rank, but for a hundredth of the records."""
    values = ask.age if numbers is None else numbers
    return bool((values < chosen).mean() - 0.01 <= q <= (values <= chosen).mean() + 0.01)


def quantile(ask: Asked) -> None:
    (ninth,) = ask("quantile", CHOSEN, of="age", q="9/10").values.ravel()
    assert ranked(ask, ninth, 0.9) and not ranked(ask, ninth, 0.5)


def quantiles(ask: Asked) -> None:
    found = ask("quantiles", CHOSEN, of="income", q=4).values
    assert all(ranked(ask, v, q, numbers=ask.income) for v, q in zip(found, (0.25, 0.5, 0.75), strict=True))


def median(ask: Asked) -> None:
    by_sex = ask("median", CHOSEN, of="age", rows=["sex"])
    for (sex,), chosen in zip(by_sex.table.space.labels(), by_sex.values, strict=True):
        own = ask.age[ask.column("sex") == sex]
        assert ranked(ask, chosen, 0.5, numbers=own) and not ranked(ask, chosen, 0.6, numbers=own)


def estimates(measure: str, truth: Callable[[Asked], float], **table: Any) -> Callable[[Asked], None]:
    def check(ask: Asked) -> None:
        exact = truth(ask)
        assert says(ask(measure, SUMMED, **table), exact, 1.2 * exact, 0.8 * exact), measure

    return check


def _ratio(ask: Asked) -> None:
    income, age, weight = ask.income, ask.age, ask.weight
    plain = income.sum() / age.sum()
    weighed = (income * weight).sum() / (age * weight).sum()
    assert says(ask("ratio", SUMMED, of="income", other="age", error="noise"), plain, weighed)
    assert says(ask("ratio", SUMMED, of="income", other="age", weight="weight"), weighed, plain)


def range_count(ask: Asked) -> None:
    between = ask("range_count", CHOSEN, of="age", among={"at_least": 30, "at_most": 50})
    inside, within = (ask.age >= 30) & (ask.age <= 50), (ask.age > 30) & (ask.age < 50)
    assert says(between, inside.sum(), within.sum())


def chosen_cell(measure: str, privacy: Mapping[str, Any], of: str | None) -> Callable[[Asked], None]:
    def check(ask: Asked) -> None:
        totals = ask.cells(ask.income if of else np.ones(len(ask.rows)), "educ")
        release = ask(measure, privacy, rows=["educ"], **({"of": of} if of else {}))
        frame = release.to_frame()
        assert str(frame.iloc[0]["educ"]) == max(totals, key=lambda cell: totals[cell])[0], measure

    return check


def dominance(ask: Asked) -> None:
    """Cells in which a contributor could be guessed to within 15 % by the second largest."""
    keys = {"rows": ["educ", "sex"], "where": {"age": {"at_least": 80}}, "of": "income"}
    dominated: dict[float, int] = {}
    for share in (0.15, 0.9):
        dominated[share] = 0
        for school, sex in product(SCHOOLS, ("0", "1")):
            inside = (ask.column("educ") == school) & (ask.column("sex") == sex)
            values = np.sort(ask.income[inside & (ask.age >= 80)])[::-1]
            rest = values[2:].sum()
            dominated[share] += bool(values[:1].sum() > 0 and rest < share * values[0])
    assert dominated[0.15] != dominated[0.9]
    assert says(ask("dominance", CHOSEN, rule={"p": 15}, **keys), dominated[0.15], dominated[0.9])


def family(ask: Asked) -> None:
    """The parameters whose cut distribution has the mean and the mean square of the records; a rate of unbounded counts is the mean."""
    rate = ask("exponential_family", SUMMED, of="age", model="poisson")
    assert says(rate, ask.age.mean(), np.median(ask.age))


def labels(ask: Asked) -> None:
    found = ask("labels", {"definition": "approximate", "epsilon": 8, "delta": "1e-6"}, rows=["puma"])
    truth = Counter(row["puma"] for row in ask.rows)
    names = [label for (label,) in found.table.space.labels()]
    assert set(names[:-1]) <= set(truth) and len(names) > 200
    lower, upper = tabulation.bounds(found, found.table, LEVEL)
    exact = np.array([truth[name] for name in names[:-1]])
    assert ((lower[:-1] <= exact) & (exact <= upper[:-1])).all()
    assert lower[-1] <= len(ask.rows) - exact.sum() <= upper[-1]
    assert not ((lower[:-1] <= exact / 2) & (exact / 2 <= upper[:-1])).all()


def at_the_data(measure: str, truth: Callable[[Numbers], tuple[float, float]]) -> Callable[[Asked], None]:
    """One number whose noise follows how far a record could move it: value and move are worked out from the sorted ages."""

    def check(ask: Asked) -> None:
        exact, moved = truth(np.sort(ask.age))
        (value,) = ask(measure, ACTUAL_DATA, of="age").values
        reach = max(moved, 1) * RARE / ACTUAL_DATA["epsilon"] + 1  # type: ignore[operator]
        assert abs(value - exact) <= reach, (measure, value, exact, reach)
        assert reach < exact or measure == "minimum"

    return check


def _interquartile(ages: Numbers) -> tuple[float, float]:
    return float(np.quantile(ages, 0.75) - np.quantile(ages, 0.25)), 2.0


def proposed(ask: Asked) -> None:
    privacy = {"definition": "approximate", "epsilon": 20, "delta": "1e-3"}
    found = ask("propose_test_release", privacy, of="age", bounds=2)
    assert says(found, float(np.median(ask.age)), float(ask.age.mean()))


def blocks(ask: Asked) -> None:
    keys = {"of": "age", "model": "gaussian_mean", "clip": [0, 100], "blocks": 40, "error": "noise"}
    assert says(ask("sample_and_aggregate", SUMMED, **keys), ask.age.mean(), 1.2 * ask.age.mean(), ask.age.std())


ENTRIES: dict[str, Callable[[Asked], None]] = {
    "count": counted,
    "persons": persons,
    "total": summed,
    "mean": averaged,
    "median": median,
    "quantile": quantile,
    "quantiles": quantiles,
    "variance": estimates("variance", lambda a: float(np.var(a.age, ddof=1)), of="age"),
    "standard_deviation": estimates("standard_deviation", lambda a: float(np.std(a.age, ddof=1)), of="age"),
    "covariance": estimates("covariance", lambda a: float(np.cov(a.income, a.age)[0, 1]), of="income", other="age"),
    "correlation": estimates(
        "correlation", lambda a: float(np.corrcoef(a.income, a.age)[0, 1]), of="income", other="age"
    ),
    "ratio": _ratio,
    "proportion": estimates(
        "proportion", lambda a: float((a.column("married") == "1").mean()), of="married", among=["1"]
    ),
    "range_count": range_count,
    "mode": chosen_cell("mode", CHOSEN, None),
    "best": chosen_cell("best", CHOSEN, "income"),
    "largest_total": chosen_cell("largest_total", ACTUAL_DATA, "income"),
    "dominance": dominance,
    "exponential_family": family,
    "labels": labels,
    "maximum": at_the_data("maximum", lambda x: (x[-1], 100 - x[-1])),
    "second_maximum": at_the_data("second_maximum", lambda x: (x[-2], x[-1] - x[-3])),
    "minimum": at_the_data("minimum", lambda x: (x[0], x[0])),
    "range": at_the_data("range", lambda x: (x[-1] - x[0], max(100 - x[-1], x[0]))),
    "interquartile": at_the_data("interquartile", _interquartile),
    "propose_test_release": proposed,
    "sample_and_aggregate": blocks,
}


def entry_of(name: str) -> Callable[[Asked], None]:
    """The comparison of one measure: from the list above, or `says_the_truth(ask)` of the measure's own test."""
    if name not in ENTRIES:
        own = import_module(f"tests.methods.test_{name}")
        assert hasattr(own, "says_the_truth"), f"nothing compares {name} with the truth of a public file"
        return own.says_the_truth  # type: ignore[no-any-return]
    return ENTRIES[name]


def test_every_measure_has_an_entry() -> None:
    assert set(ENTRIES) <= set(registry.names("methods"))
    assert all(entry_of(name) for name in registry.names("methods"))


@pytest.mark.shared_data
def test_every_measure_says_the_truth_of_a_public_file(tmp_path: Path) -> None:
    if not FILE.exists():
        pytest.skip("the public file is not on this machine")
    ask = Asked(tmp_path)
    for name in registry.names("methods"):
        entry_of(name)(ask)
