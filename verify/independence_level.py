"""The level of the default independence test on settings that nobody looked at: ten tables drawn from a seed.

Claim, written before the run: at nominal 5 % the test rejects at most 5.5 % of 4,000 null tables in each of ten settings, and at
most 5.1 % of all of them. A test whose level is 5 % has a standard error of .34 points in one setting and .11 over all. Each
table is tested as `inference/calibration.py` does it, of all tables at once: 33 refitted null means, 99 simulated measurements at
each of two totals. A level below 3 % where the mean count is at least 10 and above the variance of the noise would be useless.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.inference import formula
from dalenius.inference.calibration import REPLICATES_A_NULL, null_tables, shrunken
from dalenius.inference.fitting import statistics
from dalenius.inference.simulation import generator
from verify._inference import Setting, gaussian, laplace

SEED = 20_261_117
SETTINGS, TABLES, REPLICATES = 10, 4000, 99
NOMINAL, LEVEL, POOLED, USEFUL = 0.05, 0.055, 0.051, 0.03


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
    total = means.sum((1, 2), keepdims=True)
    beyond = np.zeros((2, tables), dtype=np.int64)
    rng = generator(seed + 1)
    for _ in range(REPLICATES // REPLICATES_A_NULL):
        refitted = statistics(seen, seen.measure(from_means, rng), null, None, from_means)[1]
        nulls = shrunken(refitted, seen.variance(from_means[0]), null)
        for _ in range(REPLICATES_A_NULL):
            for which, (start, measured) in enumerate(null_tables(seen, nulls, total, rng)):
                simulated = statistics(seen, measured, null, None, start)[0]
                beyond[which] += simulated >= observed - 1e-6 * (1 + np.abs(observed))
    return int(np.sum((1 + beyond.max(0)) / (1 + REPLICATES) <= NOMINAL))


def is_moderate(setting: Setting) -> bool:
    """Whether counts are large enough, by themselves and against the noise, for a test to be worth asking for."""
    assert setting.law is not None
    return setting.mean >= max(10.0, setting.law.noise.variance)


def run(quick: bool = False) -> dict[str, Any]:
    """Levels against the bounds written beforehand; `quick` looks at 100 tables of two settings and judges nothing."""
    tables = 100 if quick else TABLES
    settings = [drawn(number) for number in range(2 if quick else SETTINGS)]
    counts = {u.setting.name: rejected(u, tables, 10 * i) for i, u in enumerate(settings)}
    levels = {name: count / tables for name, count in counts.items()}
    pooled = sum(levels.values()) / len(levels)
    least = min((levels[u.setting.name] for u in settings if is_moderate(u.setting)), default=NOMINAL)
    return {
        "ok": quick or (max(levels.values()) <= LEVEL and pooled <= POOLED and least >= USEFUL),
        "tables": tables,
        "largest_level": max(levels.values()),
        "pooled_level": pooled,
        "least_level_of_moderate_counts": least,
        "levels": levels,
    }
