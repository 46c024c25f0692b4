"""Speed of the exact sampler: draws per second beside NumPy's inexact one and OpenDP's exact one, in one run."""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dalenius.core.law import IntegerLaw
from dalenius.core.randomness import SystemRandomness
from dalenius.exact.sampling import sample, sampler_of
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

SCALES = (1, 10, 100, 1000, 10**6)


def _rates(draws: dict[str, Callable[[int], object]], size: int, repeats: int) -> dict[str, float]:
    """Draws per second of each, the best of a few runs; the runs alternate, so that all see the same machine."""
    best = dict.fromkeys(draws, float("inf"))
    for _ in range(repeats):
        for name, draw in draws.items():
            start = time.perf_counter()
            draw(size)
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: size / seconds for name, seconds in best.items()}


def _numpy(kind: str, scale: int) -> Callable[[int], object]:
    """What people write instead; not exact, and not from a cryptographic source."""
    generator = np.random.default_rng(0)
    if kind == "discrete_gaussian":
        return lambda size: np.rint(generator.normal(0, scale, size)).astype(np.int64)
    p = -np.expm1(-1 / scale)
    return lambda size: generator.geometric(p, size) - generator.geometric(p, size)


def _opendp(kind: str, scale: int) -> Callable[[int], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if kind == "discrete_gaussian":
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    else:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
    return lambda size: measurement([0] * size)


def run(quick: bool = False) -> dict[str, object]:
    """Measure, and return rates in millions of draws per second with their ratios."""
    size, repeats, few = (200_000, 3, 2_000) if quick else (1_000_000, 15, 20_000)
    rng = SystemRandomness()
    rows: list[dict[str, object]] = []
    for scale in SCALES:
        laws: list[IntegerLaw] = [DiscreteLaplace(Fraction(1, scale)), DiscreteGaussian(Fraction(scale**2))]
        for law in laws:
            start = time.perf_counter()
            sampler_of(law)
            build = time.perf_counter() - start
            contest: dict[str, Callable[[int], object]] = {
                "ours": lambda n, law=law: sample(law, n, rng),  # type: ignore[misc]
                "numpy": _numpy(law.name, scale),
                "geometric": _numpy("discrete_laplace", scale),
            }
            rate = _rates(contest, size, repeats)
            opendp_rate = _rates({"opendp": _opendp(law.name, scale)}, few, 2)["opendp"]
            rows.append(
                {
                    "law": law.name,
                    "scale": scale,
                    "build_seconds": round(build, 4),
                    "million_per_second": round(rate["ours"] / 1e6, 1),
                    "numpy_million_per_second": round(rate["numpy"] / 1e6, 1),
                    "ratio_to_numpy": round(rate["ours"] / rate["numpy"], 2),
                    "ratio_to_numpy_geometric": round(rate["ours"] / rate["geometric"], 2),
                    "ratio_to_opendp": round(rate["ours"] / opendp_rate, 1),
                }
            )
    return {"draws": size, "rows": rows}


if __name__ == "__main__":
    for row in run()["rows"]:  # type: ignore[attr-defined]
        print(row)
