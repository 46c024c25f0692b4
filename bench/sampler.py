"""Speed of the exact sampler: draws per second beside NumPy's inexact one and OpenDP's exact one, in one run."""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dalenius.core.law import IntegerLaw
from dalenius.core.randomness import SystemRandomness
from dalenius.core.sampling import sample, sampler_of
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

SCALES = (1, 10, 100, 1000, 10**6)


def _rate(draw: Callable[[int], object], size: int, repeats: int) -> float:
    """Draws per second, the best of a few runs."""
    draw(size)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        draw(size)
        best = min(best, time.perf_counter() - start)
    return size / best


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
    size, repeats, few = (200_000, 3, 2_000) if quick else (1_000_000, 9, 20_000)
    rng = SystemRandomness()
    rows: list[dict[str, object]] = []
    for scale in SCALES:
        laws: list[IntegerLaw] = [DiscreteLaplace(Fraction(1, scale)), DiscreteGaussian(Fraction(scale**2))]
        for law in laws:
            start = time.perf_counter()
            sampler_of(law)
            build = time.perf_counter() - start
            ours = _rate(lambda n, law=law: sample(law, n, rng), size, repeats)  # type: ignore[misc]
            numpy_rate = _rate(_numpy(law.name, scale), size, repeats)
            geometric = _rate(_numpy("discrete_laplace", scale), size, repeats)
            opendp_rate = _rate(_opendp(law.name, scale), few, 2)
            rows.append(
                {
                    "law": law.name,
                    "scale": scale,
                    "build_seconds": round(build, 4),
                    "million_per_second": round(ours / 1e6, 1),
                    "numpy_million_per_second": round(numpy_rate / 1e6, 1),
                    "ratio_to_numpy": round(ours / numpy_rate, 2),
                    "ratio_to_numpy_geometric": round(ours / geometric, 2),
                    "ratio_to_opendp": round(ours / opendp_rate, 1),
                }
            )
    return {"draws": size, "rows": rows}


if __name__ == "__main__":
    for row in run()["rows"]:  # type: ignore[attr-defined]
        print(row)
