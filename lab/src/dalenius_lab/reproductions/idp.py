"""Soria-Comas, Domingo-Ferrer, Sanchez & Megias (2017), Individual differential privacy: Tables 1, 2, Figures 1, 2.

`ours` is the paper's formula; `corrected` uses tight constants where its own are loose (Table 1, Figure 1). Further
items check claims: which noise is admissible (`idp.admissible`), what the clamp gives away (`idp.clamp`,
`idp.clamp_delta`), and the sensitivities of a maximum (`idp.maximum`).
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, pi, tanh
from pathlib import Path

import numpy as np

from dalenius.audit.sensitivity import local, multisets
from dalenius.core.neighbours import Relation
from dalenius.exact.smooth_noise import Cauchy, Polynomial
from dalenius_lab.attacks.clamp import expected_queries
from dalenius_lab.brute import hockey_stick, smooth
from dalenius_lab.reproductions.items import Row, corrected, pyplot, row, save

_EPSILONS = {"0.1": 0.1, "ln 2": log(2), "1": 1.0, "2": 2.0, "5": 5.0}
_TABLE2 = {"dp": "9.98 1.33 0.85 0.27 0.013", "idp": "0.95 0.66 0.53 0.23 0.013"}


def paper_quantile(gamma: int, alpha: float, p: float) -> float:
    """Quantile of |Z| / alpha for the density 1/(1+|z|^gamma)."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    whole = quad(lambda z: 1 / (1 + z**gamma), 0, float("inf"))[0]

    def missing(logz: float) -> float:
        tail: float = quad(lambda z: 1 / (1 + z**gamma), exp(logz), float("inf"))[0]
        return log(tail / whole) - log(1 - p)

    return float(exp(brentq(missing, -5, 40))) / alpha


def _tight(gamma: int) -> float:
    """1 / scale with the corrected constants at epsilon 1: tight for 2, half shift and half dilation otherwise."""
    if gamma == 2:
        return 1 / float(Cauchy(Fraction(1), Fraction(73, 100)).scale)
    noise = Polynomial(Fraction(1), Fraction(1, 2 * (gamma - 1)), Fraction(gamma))
    return 1 / float(noise.scale)


def table1(full: bool = False) -> list[Row]:
    """Half widths of 95 % intervals at epsilon 1 and sensitivity 1."""
    rows = [row("individual (Laplace)", "3", log(20))]
    for gamma, printed in ((2, "101.7"), (3, "34.2")):
        ours = paper_quantile(gamma, 1 / (4 * gamma), 0.95)
        better = paper_quantile(gamma, _tight(gamma), 0.95)
        verdict = "misprint" if gamma == 2 else None
        rows.append(row(f"smooth, gamma = {gamma}", printed, ours, corrected=better, verdict=verdict))
    return rows


def table2(full: bool = False) -> list[Row]:
    """Expected absolute error of range queries."""
    rows = []
    for kind in ("dp", "idp"):
        for (name, epsilon), printed in zip(_EPSILONS.items(), _TABLE2[kind].split(), strict=True):
            a = exp(-epsilon)
            error = 2 * a / (1 - a * a) if kind == "dp" else 2 * a / (1 + a)
            rows.append(row(f"{kind}, epsilon = {name}", printed, error))
    return rows


def _densities(x: float) -> dict[str, tuple[float, float | None]]:
    """Density of the released error at x: the paper's, and with corrected constants."""

    def polynomial(gamma: int, alpha: float) -> float:
        whole = 2 * pi / gamma / np.sin(pi / gamma)
        return float(alpha / (whole * (1 + abs(alpha * x) ** gamma)))

    return {
        "individual (Laplace)": (exp(-abs(x)) / 2, None),
        "smooth, gamma = 2": (polynomial(2, 1 / 8), polynomial(2, _tight(2))),
        "smooth, gamma = 3": (polynomial(3, 1 / 12), polynomial(3, _tight(3))),
    }


def figure1(full: bool = False) -> list[Row]:
    """Densities of the noise at epsilon 1."""
    return [
        row(f"{name} at {x}", None, ours, corrected=better)
        for x in (0, 1, 2, 5, 10, 20)
        for name, (ours, better) in _densities(float(x)).items()
    ]


def error_law(epsilon: float, *, is_clamped: bool) -> dict[int, float]:
    """Probability of each error of a range query."""
    a = exp(-epsilon)
    if is_clamped:
        return {-1: a / (1 + a), 0: tanh(epsilon / 2), 1: a / (1 + a)}
    return {k: tanh(epsilon / 2) * a ** abs(k) for k in range(-6, 7)}


def figure2(full: bool = False) -> list[Row]:
    """Distribution of the error of a range query at epsilon 1, without and with the clamp to the data."""
    plain, clamped = error_law(1.0, is_clamped=False), error_law(1.0, is_clamped=True)
    return [row(f"dp: error {k}", None, p) for k, p in plain.items()] + [
        row(f"idp: error {k}", None, p) for k, p in clamped.items()
    ]


def worst_loss(gamma: float, alpha: float, beta: float) -> float:
    """Exact worst-case loss of the density 1/(1+|z|^gamma), on a fine grid."""
    z = np.concatenate([-np.geomspace(1e-3, 1e5, 6000)[::-1], [0.0], np.geomspace(1e-3, 1e5, 6000)])

    def g(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.log1p(np.abs(x) ** gamma))

    most = 0.0
    for b in (0.0, beta / 2, beta):
        for s in (-alpha, alpha):
            most = max(most, float(np.max(g(np.exp(b) * z + s) - b - g(z))))
            most = max(most, float(np.max(g(np.exp(-b) * (z + s)) + b - g(z))))
    return most


def admissible(full: bool = False) -> list[Row]:
    """Loss at nominal epsilon 1 of the constants alpha = eps/(4 gamma), beta = eps/gamma; and of ours."""
    rows = []
    for gamma in (2, 3, 4, 6, 8, 9, 10, 20):
        ours = worst_loss(gamma, 1 / (4 * gamma), 1 / gamma)
        noise = Polynomial(Fraction(1), Fraction(1, 2 * max(gamma - 1, 1)), Fraction(gamma))
        better = worst_loss(gamma, 1 / float(noise.scale), float(noise.beta))
        printed, verdict = ("1", "corrected") if ours > 1 else (None, "not printed")
        rows.append(row(f"loss, gamma = {gamma}", printed, ours, corrected=better, verdict=verdict))
    return rows


def clamp(full: bool = False) -> list[Row]:
    """Expected number of clamped answers after which the exact count is known."""
    return [row(f"queries, epsilon = {name}", None, expected_queries(epsilon)) for name, epsilon in _EPSILONS.items()]


def maximum(full: bool = False) -> list[Row]:
    """The sensitivities of 6.2 beside enumeration: every data set of four values in 0, …, 4, one value replaced."""
    universe, size, top, base = range(5), 4, 4, Fraction(1, 2)
    data_sets = list(multisets(universe, size))

    def largest(data: tuple[int, ...]) -> int:
        return data[-1]

    def second(data: tuple[int, ...]) -> int:
        return data[-2]

    def of_largest(x: tuple[int, ...]) -> int:
        return max(top - x[-1], x[-1] - x[-2])

    def of_second(x: tuple[int, ...]) -> int:
        return max(x[-1] - x[-2], x[-2] - x[-3])

    def smooth_of_largest(x: tuple[int, ...]) -> Fraction:
        """The paper's maximum over k, values below the smallest read as the smallest possible one."""
        low = (min(universe),) * (size + 1) + x
        return max(base**k * max(top - low[-1 - k], x[-1] - low[-2 - k]) for k in range(size + 1))

    memo: dict[tuple[int, ...], Fraction] = {}
    checks: dict[str, Callable[[tuple[int, ...]], bool]] = {
        "local, maximum": lambda x: local(largest, x, universe, Relation.REPLACE) == of_largest(x),
        "local, second maximum": lambda x: local(second, x, universe, Relation.REPLACE) == of_second(x),
        "smooth, maximum": lambda x: (
            smooth(largest, x, universe, base, Relation.REPLACE, size, memo) == smooth_of_largest(x)
        ),
    }
    rows = [row("data sets", None, len(data_sets))]
    for name, holds in checks.items():
        share = sum(holds(x) for x in data_sets) / len(data_sets)
        rows.append(row(f"{name}: share of data sets with the printed value", "1", share))
    return rows


def clamp_delta(full: bool = False) -> list[Row]:
    """What the clamp to f(D) - 1, …, f(D) + 1 is against an intruder who knows the algorithm: its delta at the stated
    epsilon.

    The lowest output of one data set is impossible on its neighbour, so that delta is at least a / (1 + a) with a =
    exp(-epsilon), at every epsilon; the paper's reading is that individuals are protected as under differential privacy
    (delta 0).
    """
    rows = []
    for name, epsilon in _EPSILONS.items():
        here = {k: log(p) for k, p in error_law(epsilon, is_clamped=True).items()}
        there = {k + 1: p for k, p in here.items()}
        rows.append(corrected(f"delta, epsilon = {name}", "0", 0.0, hockey_stick(here, there, epsilon)))
    return rows


def _draw(name: str) -> Callable[[Path, bool], Path]:
    def draw(directory: Path, full: bool) -> Path:
        if name == "idp.figure1":
            figure, axis = pyplot().subplots(figsize=(7, 4.5))
            grid = np.linspace(-20, 20, 801)
            for label in _densities(0.0):
                axis.plot(grid, [_densities(float(x))[label][0] for x in grid], label=label)
            better = [_densities(float(x))["smooth, gamma = 2"][1] or 0.0 for x in grid]
            axis.plot(grid, better, "--", label="smooth, gamma = 2, tight")
            axis.legend()
        else:
            figure, axes = pyplot().subplots(2, 1, figsize=(7, 6), sharex=True)
            for axis, is_clamped in zip(axes, (False, True), strict=True):
                law = error_law(1.0, is_clamped=is_clamped)
                axis.bar(list(law), list(law.values()))
                axis.set_title("clamped to the data" if is_clamped else "not clamped")
        return save(figure, directory, name)

    return draw


PLOTS = {name: _draw(name) for name in ("idp.figure1", "idp.figure2")}
