"""The level of the default independence test on settings that nobody looked at: ten tables drawn from a seed.

Claim, written before the run: at nominal 5 % the test rejects at most 5.5 %. Each setting has 4,000 tables; it is refuted by more
rejections than a level of 5.5 % exceeds with probability .0005. Each table is tested by
199 simulated measurements, of all tables at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.inference import formula
from dalenius.inference.calibration import shrunken
from dalenius.inference.fitting import statistics
from dalenius.inference.simulation import generator
from verify._inference import Setting, gaussian, laplace

SEED = 1116
SETTINGS, TABLES, REPLICATES = 10, 4000, 199
NOMINAL, LEVEL, ERROR = 0.05, 0.055, 0.0005


@dataclass(frozen=True)
class Unseen:
    """A drawn setting with margins of its own."""

    setting: Setting
    means: np.ndarray


def drawn(number: int) -> Unseen:
    """Shape, margins, mean count and noise of one setting."""
    rng = np.random.default_rng([SEED, number])
    rows, columns = (int(n) for n in rng.integers(2, 7, 2))
    mean = float(np.exp(rng.uniform(np.log(3), np.log(100))))
    kind, scale = int(rng.integers(0, 3)), float(np.exp(rng.uniform(np.log(0.1), 0)))
    epsilon = f"{scale:.2f}"
    law = (laplace(epsilon), laplace(epsilon, 10), gaussian(max(1, round(2 / scale**2))))[kind]
    name = f"{rows}x{columns} {law.noise.name} {dict(law.noise.parameters)}, mean {mean:.3g}"
    margins = [np.exp(rng.uniform(0.3, 3) * rng.uniform(-0.5, 0.5, n)) for n in (rows, columns)]
    table = np.outer(*margins)
    return Unseen(Setting(name, (rows, columns), mean, law), table * (mean / table.mean()))


def rejected(unseen: Unseen, tables: int, seed: int) -> int:
    """How many null tables the test rejects."""
    seen = unseen.setting.template()
    null = formula.independent(seen.names)
    values = seen.simulate(unseen.means, tables, generator(seed))
    observed, means = statistics(seen, values, null, None, None)
    from_means = shrunken(means, seen.variance(means[0]), null)
    beyond = np.zeros(tables, dtype=np.int64)
    rng = generator(seed + 1)
    for _ in range(REPLICATES):
        again = seen.channel.send(rng.poisson(from_means), rng)
        simulated = statistics(seen, again, null, None, None)[0]
        beyond += simulated >= observed - 1e-6 * (1 + np.abs(observed))
    return int(np.sum((1 + beyond) / (1 + REPLICATES) <= NOMINAL))


def run(quick: bool = False) -> dict[str, Any]:
    """Rejections of each setting against the number written beforehand; `quick` takes 100 tables."""
    from scipy.stats import binom

    tables = 100 if quick else TABLES
    most = int(binom.isf(ERROR, tables, LEVEL))
    settings = [drawn(number) for number in range(2 if quick else SETTINGS)]
    counts = {u.setting.name: rejected(u, tables, 10 * i) for i, u in enumerate(settings)}
    return {
        "ok": max(counts.values()) <= most,
        "tables": tables,
        "most_rejections": most,
        "rejections": counts,
        "levels": {name: count / tables for name, count in counts.items()},
    }
