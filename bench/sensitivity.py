"""How long data-dependent sensitivities and their noise take."""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dalenius.algebra.ranks import WholeList
from dalenius.core.domain import CellSpace
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.core.randomness import SystemRandomness
from dalenius.core.sealed import Sealed
from dalenius.exact.ideal_rounding import discrete_laplace, rounded
from dalenius.exact.order_statistics import rational_base
from dalenius.exact.smooth_noise import Cauchy, Lomax
from dalenius.measurements.grid_selection import GridSelection
from dalenius.statistics.quantile import Quantile


def _seconds(action: Callable[[], object], repeat: int = 3) -> float:
    """Processor time, best of a few."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def _drawn(draw: Callable[[Any], object], parameter: object, draws: int) -> list[object]:
    return [draw(parameter) for _ in range(draws)]


def run(quick: bool = False) -> dict[str, object]:
    """Seconds for smooth medians of a million values, and microseconds for single draws."""
    size = 100_000 if quick else 1_000_000
    values = np.random.default_rng(1).lognormal(10, 1, size).astype(np.int64)
    median = Quantile(query=ValuesQuery(value="x"), low=0, high=10_000_000)
    rng, draws = SystemRandomness(), 200
    result: dict[str, object] = {"values": size}
    for beta in ("0.2", "0.01", "0.001"):
        base = rational_base(Fraction(beta))
        for relation in Relation:
            neighbours = Neighbours(relation=relation)
            result[f"smooth median, beta {beta}, {relation} (s)"] = _seconds(
                partial(median.smooth, values, base, neighbours)
            )
    neighbours = Neighbours(relation=Relation.REPLACE)
    result["local median (s)"] = _seconds(lambda: median.local(values, neighbours))
    step = GridSelection(
        name="median",
        space=CellSpace(()),
        queries=(median.query,),
        low=0,
        high=10_000_000,
        epsilons=(Fraction(1, 10),),
        neighbours=neighbours,
        targets=WholeList(qs=(Fraction(1, 2),)),
    )
    exact = (Sealed(np.sort(values)),)
    result["exponential median (s)"] = _seconds(lambda: step.run(exact, None, rng))
    for noise in (Cauchy(Fraction(1), Fraction(7, 10)), Lomax(Fraction(1), Fraction(1, 5))):
        seconds = _seconds(partial(_drawn, lambda n: rounded(Fraction(0), Fraction(1000), n.draw(rng)), noise, draws))
        result[f"{noise.name} draw (µs)"] = seconds / draws * 1e6
    for scale in (1, 10**12):
        seconds = _seconds(partial(_drawn, lambda s: discrete_laplace(Fraction(s), rng), scale, draws))
        result[f"withheld Laplace draw, scale {scale:g} (µs)"] = seconds / draws * 1e6
    return result


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name}: {value}")
