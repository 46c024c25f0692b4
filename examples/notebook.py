"""Protected tables in a notebook: pandas and polars frames in; plans, releases, estimates, frames and pictures out.

Run it cell by cell (`# %%`), or whole: `python examples/notebook.py [FOLDER]` writes what a notebook would show to FOLDER.
"""

# %% A small survey, made up here; read your own with pandas.read_csv or polars.read_parquet.
import sys
from pathlib import Path
from typing import Any, Protocol, assert_type

import numpy as np
import pandas as pd
import polars as pl

import dalenius
from dalenius import Curator, Estimate, Ledger, Release, Request, inference

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "notebook-out")
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)
persons = pd.DataFrame(
    {
        "region": rng.choice(["north", "south", "west"], 5000, p=[0.5, 0.3, 0.2]),
        "smokes": rng.choice(["yes", "no"], 5000, p=[0.2, 0.8]),
        "income": rng.integers(0, 8000, 5000),
    }
)

# %% What the frame may hold is declared, never read from its rows.
declaration = {
    "dataset": {"name": "survey", "population": "adults-2024", "title": "Health survey 2024"},
    "unit": {"relation": "add-remove"},
    "variables": {
        "region": {"label": "Region", "categories": ["north", "south", "west"]},
        "smokes": {"label": "Smokes", "categories": ["yes", "no"]},
        "income": {"label": "Income", "bounds": [0, 10_000], "step": 1, "unit": "euro"},
    },
}
policy = {"budget": {"rho": 2, "delta": "1e-6"}}

# %% Ask; a plan is free and reads no data.
request = dalenius.table(rows="region", columns="smokes", epsilon=1, title="Smokers by region")
assert_type(request, Request)
curator = Curator.open(persons, declaration, policy=policy, ledger=folder / "ledger.sqlite")
curator.register(by="me")
plan = curator.plan(request)
assert_type(plan.error, float)
print(repr(plan), plan.cost, plan.error, sep="\n")

# %% Release; charged before the first row is read.
release = curator.release(request)
assert_type(release, Release)
again = curator.release(dalenius.table(rows="region", columns="smokes", rho="0.1"))
income = curator.release(dalenius.table(rows="region", measure="mean", of="income", epsilon=1))
margins = curator.release(
    dalenius.table(rows="region", columns="smokes", margins=[["region"], ["smokes"], []], universe="complete", rho=0.1)
)
print(repr(release), release.to_frame(), release.to_polars(), sep="\n")

# %% Every measure is asked for in the same way; tables that are known beforehand are one batch, charged as one.
asked: dict[str, dict[str, Any]] = {
    "total": {"rows": "region", "of": "income"},
    "median": {"rows": "region", "of": "income"},
    "quantiles": {"of": "income", "q": 4},
    "standard_deviation": {"of": "income", "error": "noise"},
    "proportion": {"of": "smokes", "among": ["yes"], "per": 100},
    "range_count": {"of": "income", "among": {"at_least": 1000, "at_most": 2000}},
    "mode": {"rows": "region"},
}
further = {
    measure: curator.release(dalenius.table(measure=measure, epsilon="0.1", **keys)) for measure, keys in asked.items()
}
several = dalenius.batch({"rows": "region", "title": "By region"}, {"rows": "smokes"}, rho="0.05")
planned, batch = curator.plan(several), curator.release(several)

# %% What it means: intervals, estimates and tests that know the noise.
cells = inference.intervals(release, confidence=0.9)
smokers = inference.proportion(release, {"smokes": "yes"})
assert_type(smokers, Estimate)
test = inference.independence(release, "region", "smokes")
model = inference.loglinear(release, "region + smokes")
both = inference.combine([release, again])
draws = inference.posterior(release, seed=1)

# %% What is left, and where it went. A polars frame is opened in the same way; a new version brings no new budget.
left = curator.left
ledger: Ledger = curator.ledger
print(left, ledger.left)
statement = ledger.reader.statement("adults-2024")
corrected = declaration | {"dataset": {"name": "survey", "population": "adults-2024", "version": "2"}}
second = Curator.open(pl.from_pandas(persons), corrected, ledger=ledger)
second.register(by="me")
print(second.release(dalenius.table(rows="smokes", rho=0.1)).to_polars())

# %% A budget that does not suffice is an error with a name, before anything is spent.
try:
    curator.release(dalenius.table(rows="region", rho=1.9))
except dalenius.errors.BudgetExhausted as refusal:
    print(refusal.code, refusal)


# %% Every result prints itself in two lines, shows itself as a table, and draws itself. A notebook does so by itself.
class Shown(Protocol):
    """What a notebook shows."""

    def _repr_html_(self) -> str: ...


class Drawn(Protocol):
    """What draws itself."""

    def plot(self, path: object = None) -> object: ...


tables = release.margin("region")
shown: dict[str, Shown] = {"plan": plan, "release": release, "mean": income, "margins": margins, "table": tables}
shown |= {"intervals": cells, "estimate": smokers, "test": test, "model": model}
shown |= {"combined": both, "posterior": draws, "statement": statement}
shown |= {"planned batch": planned, "batch": batch, **further}
drawn: dict[str, Drawn] = {
    "batch": batch,
    **further,
    "release": release,
    "mean": income,
    "margins": margins,
    "table": tables,
}
drawn |= {"intervals": cells, "estimate": smokers, "test": test, "model": model, "combined": both, "posterior": draws}
for name, result in shown.items():
    print(repr(result))
    (folder / f"{name}.html").write_text(result._repr_html_(), encoding="utf-8")
for name, picture in drawn.items():
    picture.plot(folder / f"{name}.png")
for frames in (release, release.table, cells):
    print(frames.to_frame().head(3), frames.to_polars().head(3), sep="\n")
curator.close()
