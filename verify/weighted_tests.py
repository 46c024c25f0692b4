"""Levels of tests on weighted tables: independence of two axes, and a log-linear model of three, under the design and the noise.

Claim, fixed before the first run. Records of a population in which the axes are independent (or two of them, given the third) are drawn
with chances in inverse proportion to weights of 1 to 5 that follow the axes; planned requests for weighted lists, the plan's own noise, nominal
5 %: in no setting, and not over all of them together, a binomial test at 0.0005 rejects "the level is at most 5.5 %". Without the squared weights, as if weighted counts were
counts, the same tests reject more often (printed).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.inference.calibration import calibrate
from dalenius.inference.formula import Model, model
from dalenius.inference.weighted_table import of_weighted
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing.asking import plan_of
from verify._recorded import release_of

LEVEL, MOST = 0.05, 0.055
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
SHAPES = {"2 x 3": (2, 3), "4 x 5": (4, 5), "2 x 2 x 3": (2, 2, 3)}


@dataclass(frozen=True)
class Setting:
    """A table, a number of records and a budget; odd ones have weights that follow the axes closely."""

    shape: str
    n: int
    rho: str
    is_close: bool

    @property
    def axes(self) -> list[str]:
        """Names of the axes."""
        return ["a", "b", "c"][: len(SHAPES[self.shape])]

    @property
    def null(self) -> Model:
        """Independence, or independence of the first two axes given the third."""
        return model("a*c + b*c" if len(self.axes) == 3 else "a + b", tuple(self.axes))


def settings(quick: bool) -> Iterator[Setting]:
    """All of them, or the smallest."""
    for shape in SHAPES:
        for n, rho in ((500, "1"), (5_000, "0.1")):
            for is_close in (False, True):
                if not quick or (n, is_close) == (500, True):
                    yield Setting(shape, n, rho, is_close)


def request(setting: Setting) -> dict[str, Any]:
    """A list with the table and its margins."""
    axes = setting.axes
    margins = [axes, *([axis] for axis in axes)]
    table = {"rows": axes, "weight": "w", "margins": margins}
    return {"table": table, "privacy": {"definition": "zero_concentrated", "rho": setting.rho}}


def planned(setting: Setting) -> tuple[Any, TablePlan]:
    """The domain and the plan of one setting."""
    categories = {
        axis: {"categories": [str(k) for k in range(size)], "missing": "0", "unseen": "0"}
        for axis, size in zip(setting.axes, SHAPES[setting.shape], strict=True)
    }
    document = {
        "dataset": {"name": "simulated", "population": "simulated", "public": True},
        "design": {"draws": "independent"},
        "variables": categories | {"w": {"weight": True, "bounds": [1, 5], "step": "0.1", "missing": 1}},
    }
    domain = DatasetDocument.from_dict(document).domain()
    return domain, plan_of(domain, request(setting), POLICY)


def records(setting: Setting, rng: np.random.Generator) -> dict[str, Any]:
    """A sample of the population, each record kept with the inverse of its weight."""
    shape, n = SHAPES[setting.shape], 6 * setting.n
    places = [rng.choice(size, n, p=_shares(size, axis)) for axis, size in enumerate(shape)]
    if len(shape) == 3:
        # Two axes follow the third, and each other only through it.
        places[0] = np.where(rng.random(n) < 0.2 * places[2], 0, places[0])
        places[1] = np.where(rng.random(n) < 0.15 * places[2], 1, places[1])
    follows = sum(place / (size - 1) for place, size in zip(places, shape, strict=True)) / len(shape)
    mixed = follows if setting.is_close else 0.3 * follows
    spread = np.clip(mixed + rng.uniform(-0.2, 0.2 if setting.is_close else 0.9, n), 0, 1)
    w = np.rint(10 + 40 * spread)
    kept = np.flatnonzero(rng.random(n) * w < 10)[: setting.n]
    columns = {axis: places[k][kept].astype(str).tolist() for k, axis in enumerate(setting.axes)}
    return columns | {"w": (w[kept] / 10).tolist()}


def _shares(size: int, axis: int) -> np.ndarray:
    weights = 1.0 + 0.5 * ((np.arange(size) + axis) % 3)
    return np.asarray(weights / weights.sum())


def p_values(setting: Setting, runs: int, replicates: int) -> tuple[list[float], list[float]]:
    """With the dispersion that the squared weights say, and as if weighted counts were counts."""
    domain, plan = planned(setting)
    rng, told, naive = np.random.default_rng([31, setting.n, len(setting.axes)]), [], []
    for number in range(runs):
        release: Release = release_of(plan, domain, records(setting, rng), request(setting), f"{setting} {number}")
        seen = of_weighted(release, tuple(setting.axes))
        told.append(calibrate(seen, setting.null, replicates=replicates, seed=number).p_value)
        if number % 5 == 0:
            plain = replace(seen, dispersion=None)
            naive.append(calibrate(plain, setting.null, replicates=replicates, seed=number).p_value)
    return told, naive


def run(quick: bool = False) -> dict[str, Any]:
    """Every setting."""
    runs, replicates = (40, 99) if quick else (250, 99)
    rows, beyond = [], 0
    for setting in settings(quick):
        told, naive = p_values(setting, runs, replicates)
        rejected = sum(p <= LEVEL for p in told)
        beyond += rejected
        rows.append(
            {
                "setting": f"{setting.shape}, n = {setting.n:,}, rho {setting.rho}, weights"
                f" {'follow' if setting.is_close else 'hardly follow'} the axes",
                "level": rejected / runs,
                "level as if counted": sum(p <= LEVEL for p in naive) / len(naive),
                "ok": bool(binomtest(rejected, runs, MOST, alternative="greater").pvalue >= 0.0005),
            }
        )
    together = binomtest(beyond, runs * len(rows), MOST, alternative="greater").pvalue
    return {
        "runs": runs,
        "replicates": replicates,
        "settings": rows,
        "average level": float(np.mean([row["level"] for row in rows])),
        "ok": bool(all(row["ok"] for row in rows) and together >= 0.0005),
    }
