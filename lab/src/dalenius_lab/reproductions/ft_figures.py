"""Rinott, O'Keefe, Shlomo & Skinner (2018): the risk-utility plots of Figures 1 to 3.

The figures print no numbers, so each row is a claim of the text, or a median of ours for the record. The paper does not
say how the margins of its independent tables were drawn: we take Dirichlet(5), 10 x 10 and 25 x 40 cells. Shown counts
below zero are set to zero, as in its Table 2. Simulation only; nothing here is released.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalenius.algebra.losses import association, compare
from dalenius.core.law import Additive, IntegerLaw
from dalenius.demo.tables import load
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal
from dalenius_lab.reproductions.items import Row, pyplot, row, save, simulated

EPSILONS = ("0.1", "0.5", "1.0", "1.5", "2.0", "3.0")
NORMAL_LIMITS = dict(zip(EPSILONS, (8, 10, 12, 12, 13, 14), strict=True))
MEASURES = ("l1", "l2", "l3", "cramers_v_after", "p_value_after")
# Standard error of an interquartile range, as a share of it, times the root of the number of draws (normal draws).
_IQR_ERROR = 1.166
Results = dict[tuple[str, str], dict[str, NDArray[np.float64]]]


def _law(kind: str, epsilon: str) -> IntegerLaw:
    if kind == "laplace":
        return TruncatedLaplace(Fraction(epsilon), 7)
    return TruncatedNormal.of_paper(epsilon, NORMAL_LIMITS[epsilon])


def table_1() -> NDArray[np.int64]:
    """The paper's Table 1."""
    rows = load("uk2001").rows
    ages = list(dict.fromkeys(r["age"] for r in rows))
    return np.array([int(r["count"]) for r in rows], dtype=np.int64).reshape(len(ages), -1)


def independent(shape: tuple[int, int], seed: int) -> NDArray[np.int64]:
    """A table of 10,000 with independent attributes."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.dirichlet(np.full(shape[0], 5.0)), rng.dirichlet(np.full(shape[1], 5.0))
    return rng.multinomial(10_000, np.outer(rows, columns).ravel()).reshape(shape)


def perturbed(table: NDArray[np.int64], repetitions: int, seed: int) -> Results:
    """Losses and associations over repeated perturbations, for both kinds of noise and every epsilon."""
    rng = np.random.default_rng(seed)
    results: Results = {}
    for kind in ("laplace", "normal"):
        for epsilon in EPSILONS:
            law = _law(kind, epsilon)
            low, high = law.support
            assert low is not None and high is not None
            points = np.arange(low, high + 1)
            mass = Additive(law).pmf(points)
            losses = []
            for _ in range(repetitions):
                noise = rng.choice(points, size=table.shape, p=mass / mass.sum())
                losses.append(compare(table, np.maximum(table + noise, 0)))
            results[kind, epsilon] = {m: np.array([f[m] for f in losses]) for m in MEASURES}
    return results


def cramers_v(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cramer's V of many tables at once (the last two axes)."""
    expected = tables.sum(-1, keepdims=True) * tables.sum(-2, keepdims=True)
    total = tables.sum((-2, -1))
    ratio = np.divide(tables**2, expected, out=np.zeros_like(tables), where=expected > 0)
    freedom = min(tables.shape[-2:]) - 1
    return np.asarray(np.sqrt(np.maximum(ratio.sum((-2, -1)) - 1, 0.0) * total / (total * freedom)))


def spread_of_v(kind: str, epsilon: str, draws: int = 20_000, seed: int = 1) -> float:
    """Interquartile range of Cramer's V of the perturbed Table 1; its own Monte Carlo error is below one percent."""
    rng = np.random.default_rng(seed)
    law = _law(kind, epsilon)
    low, high = law.support
    assert low is not None and high is not None
    points = np.arange(low, high + 1)
    mass = Additive(law).pmf(points)
    table, values = table_1(), []
    for _ in range(draws // 2000):
        noise = rng.choice(points, size=(2000, *table.shape), p=mass / mass.sum())
        values.append(cramers_v(np.maximum(table + noise, 0).astype(np.float64)))
    return float(np.subtract(*np.percentile(np.concatenate(values), [75, 25])))


def _medians(results: Results, measure: str) -> dict[tuple[str, str], float]:
    return {key: float(np.median(values[measure])) for key, values in results.items()}


def _common(results: Results) -> list[Row]:
    rows = []
    for measure in ("l1", "l2", "l3"):
        middle = _medians(results, measure)
        for kind in ("laplace", "normal"):
            line = [middle[kind, e] for e in EPSILONS]
            falls = all(a >= b for a, b in pairwise(line))
            rows.append(row(f"{measure} falls as eps grows, {kind}", True, falls))
        better = all(middle["laplace", e] <= middle["normal", e] for e in EPSILONS)
        rows.append(row(f"{measure} of laplace below normal at every eps", True, better))
    for (kind, epsilon), values in results.items():
        for measure in MEASURES:
            rows.append(row(f"median {measure} {kind} eps={epsilon}", None, float(np.median(values[measure]))))
    return rows


def _rejections(results: Results, kind: str) -> dict[str, float]:
    return {e: float((results[kind, e]["p_value_after"] < 0.05).mean()) for e in EPSILONS}


def _repetitions(full: bool) -> int:
    return 100 if full else 20


def figure1(full: bool = False) -> list[Row]:
    """Table 1 of the paper: association survives, Laplace loses least."""
    results = perturbed(table_1(), _repetitions(full), 1)
    rows = [row("cramers v of table 1 (horizontal line)", None, association(table_1().astype(float))[0])]
    for kind in ("laplace", "normal"):
        # The published box plots hold 100 perturbations: the interquartile range of 100 draws has this standard error.
        spread = max(spread_of_v(kind, e) for e in EPSILONS)
        error = _IQR_ERROR * spread / 10
        name = f"largest interquartile range of cramers v, {kind}"
        below = row(f"{name}, is below 0.005", True, True) if spread < 0.005 else None
        rows.append(below or simulated(f"{name}, against the printed bound", 0.005, spread, error))
        rows.append(row(name, None, spread))
        largest = max(float(results[kind, e]["p_value_after"].max()) for e in EPSILONS)
        rows.append(row(f"p-values close to zero, {kind}", True, largest < 1e-6))
    return rows + _common(results)


def figure2(full: bool = False) -> list[Row]:
    """The small independent table (mean cell 100): the inference rarely changes."""
    results = perturbed(independent((10, 10), 5), _repetitions(full), 2)
    rows = []
    for kind in ("laplace", "normal"):
        share = _rejections(results, kind)
        rows.append(
            row(
                f"inference rarely changes (at most 1 in 5 at eps >= 0.5), {kind}",
                True,
                max(share[e] for e in EPSILONS[1:]) <= 0.2,
            )
        )
        rows += [row(f"share of p-values below 0.05, {kind} eps={e}", None, share[e]) for e in EPSILONS]
    return rows + _common(results)


def figure3(full: bool = False) -> list[Row]:
    """The large independent table (mean cell 10): naive tests go wrong."""
    results = perturbed(independent((25, 40), 5), _repetitions(full), 3)
    laplace, normal = (_rejections(results, kind) for kind in ("laplace", "normal"))
    rows = [
        row("normal: no correct inference at any eps", True, min(normal.values()) > 0.5),
        row("laplace: rejects at eps = 1", True, laplace["1.0"] > 0.5),
        row("laplace: does not reject at eps = 3", True, laplace["3.0"] < 0.5),
    ]
    for kind, share in (("laplace", laplace), ("normal", normal)):
        rows += [row(f"share of p-values below 0.05, {kind} eps={e}", None, share[e]) for e in EPSILONS]
    return rows + _common(results)


def _draw(name: str, table: Callable[[], NDArray[np.int64]], seed: int) -> Callable[[Path, bool], Path]:
    def draw(directory: Path, full: bool = False) -> Path:
        counts = table()
        results = perturbed(counts, _repetitions(full), seed)
        figure, panels = pyplot().subplots(1, len(MEASURES), figsize=(4 * len(MEASURES), 4))
        for panel, measure in zip(panels, MEASURES, strict=True):
            boxes = [results[kind, e][measure] for e in EPSILONS for kind in ("laplace", "normal")]
            panel.boxplot(boxes, tick_labels=[f"{k[0].upper()} {e}" for e in EPSILONS for k in ("laplace", "normal")])
            panel.set_title(measure.replace("_after", "").replace("_", " "))
            panel.tick_params(axis="x", rotation=90)
        truth = association(counts.astype(float))
        panels[3].axhline(truth[0], color="grey")
        panels[4].axhline(truth[1], color="grey")
        figure.tight_layout()
        return save(figure, directory, name)

    return draw


PLOTS = {
    "ft.figure1": _draw("ft.figure1", table_1, 1),
    "ft.figure2": _draw("ft.figure2", lambda: independent((10, 10), 5), 2),
    "ft.figure3": _draw("ft.figure3", lambda: independent((25, 40), 5), 3),
}
