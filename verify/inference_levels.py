"""Level and power of the default independence test, by the warp-speed method and by the full test.

Warp speed (Giacomini, Politis & White 2013): each simulated table gives one statistic and one bootstrap statistic from a null
mean that is refitted to its own null fit; the 95 % point of the pooled bootstrap statistics is the critical value. The full test (999 replicates) is then run
on 200 tables of each setting. Claim: at nominal 5 % the level is at most 6 %, and at least 4 % where the variance of the noise
is below the mean cell.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, cast

import numpy as np

from dalenius.inference import formula
from dalenius.inference.calibration import shrunken
from dalenius.inference.fitting import statistics
from dalenius.inference.independence import independence
from dalenius.inference.observation import Observed
from dalenius.inference.observe import Seen
from dalenius.inference.simulation import generator
from verify._inference import SETTINGS, Setting, laplace

NOMINAL = 0.05
MOST, LEAST = 0.06, 0.04


def warp_speed(seen: Seen, values: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of tables, and one bootstrap statistic from each table's own null fit."""
    null = formula.independent(seen.names)
    observed, means = statistics(seen, values, null, None, None)
    rng, noise = generator(seed), seen.variance(means[0])
    first = shrunken(means, noise, null)
    refitted = statistics(seen, seen.measure(first, rng), null, None, first)[1]
    simulated_from = shrunken(refitted, noise, null)
    return observed, statistics(seen, seen.measure(simulated_from, rng), null, None, simulated_from)[0]


def level(setting: Setting, tables: int, full: int, replicates: int, seed: int) -> dict[str, Any]:
    """Measured level of one setting."""
    seen = setting.template()
    values = seen.simulate(setting.means, tables, generator(seed))
    observed, bootstrap = warp_speed(seen, values, seed + 1)
    critical = float(np.quantile(bootstrap, 1 - NOMINAL))
    warp = float(np.mean(observed > critical + 1e-9))
    rejected = 0
    for k in range(full):
        one = _with_values(seen, values[k])
        rejected += independence(one, replicates=replicates, seed=seed + k).p_value <= NOMINAL
    noise = float(np.mean(seen.variance(setting.means)))
    return {
        "setting": setting.name,
        "noise_variance": round(noise, 3),
        "is_noise_below_mean": noise < setting.mean,
        "warp_speed_level": warp,
        "asymptotic_level": _asymptotic(seen, observed),
        "full_test_rejected": rejected,
        "full_test_tables": full,
    }


def _asymptotic(seen: Seen, observed: np.ndarray) -> float:
    from scipy.special import chdtri

    freedom = (seen.shape[0] - 1) * (seen.shape[1] - 1)
    return float(np.mean(observed > chdtri(freedom, NOMINAL)))


def _with_values(seen: Seen, values: np.ndarray) -> Seen:
    return cast(Seen, replace(cast(Any, seen), values=values))


def power(epsilon: str, bound: int | None, tables: int, seed: int) -> dict[str, Any]:
    """Power on the dependent tables of Rinott et al. (coefficient 0.3), at equal size."""
    setting = Setting("10x10", (10, 10), 55, laplace(epsilon, bound))
    seen, rng = setting.template(), generator(seed)
    assert isinstance(seen, Observed)
    shape = (tables, 10, 10)
    rows, columns = rng.uniform(-0.5, 0.5, (tables, 10, 1)), rng.uniform(-0.5, 0.5, (tables, 1, 10))
    null_means = np.exp(4 + rows + columns)
    dependent = null_means * np.exp(0.3 * rng.uniform(-0.5, 0.5, shape))
    null_values = seen.channel.send(rng.poisson(null_means), rng)
    values = seen.channel.send(rng.poisson(dependent), rng)
    null = formula.independent(seen.names)
    oracle = float(np.quantile(statistics(seen, null_values, null, None, None)[0], 1 - NOMINAL))
    observed, bootstrap = warp_speed(seen, values, seed + 1)
    return {
        "noise": f"Laplace {epsilon}" + ("" if bound is None else f" truncated at {bound}"),
        "default_test": float(np.mean(observed > np.quantile(bootstrap, 1 - NOMINAL))),
        "published_statistic_at_its_true_critical_value": float(np.mean(observed > oracle)),
        "published_test_with_chi_square": _asymptotic(seen, observed),
    }


def _job(arguments: tuple[object, ...]) -> dict[str, Any]:
    kind, *rest = arguments
    return level(*rest) if kind == "level" else power(*rest)  # type: ignore[arg-type]


def run(quick: bool = False) -> dict[str, Any]:
    """Levels of all settings and power at equal size; `quick` uses a tenth of the tables."""
    tables, full, replicates = (1000, 4, 99) if quick else (10_000, 200, 999)
    jobs: list[tuple[object, ...]] = [
        ("level", s, tables, full, replicates, 1000 * k) for k, s in reversed(list(enumerate(SETTINGS)))
    ]
    jobs += [("power", e, b, tables // 5, 77) for e, b in (("0.1", 10), ("0.5", 10), ("0.5", None), ("0.1", None))]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_job, jobs))
    levels = [f for f in found if "setting" in f]
    slack = 0.04 if quick else 0.0
    failures = [
        f["setting"]
        for f in levels
        if float(f["warp_speed_level"]) > MOST + slack
        or (f["is_noise_below_mean"] and float(f["warp_speed_level"]) < LEAST - slack)
    ]
    rejected = sum(int(f["full_test_rejected"]) for f in levels)
    tried = sum(int(f["full_test_tables"]) for f in levels)
    pooled = rejected / tried
    # 200 tables of one setting reject at most 23 times with probability 0.999 at a level of 6 %.
    many = [f["setting"] for f in levels if int(f["full_test_rejected"]) > 23]
    return {
        "ok": not failures and not many and (quick or pooled <= MOST),
        "failures": failures + many,
        "pooled_full_test_level": pooled,
        "levels": levels,
        "power": [f for f in found if "noise" in f],
    }
