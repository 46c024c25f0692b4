"""Rinott, O'Keefe, Shlomo & Skinner (2018): Table 2, the deltas of sections 5 and 6, the deviations of section 7."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np

from dalenius.algebra.margins import all_margins
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, Categories, Domain, Variable
from dalenius.core.law import Additive, IntegerLaw
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.sensitivity import Sensitivity
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal
from dalenius.plans.margins.plan import plan_list
from dalenius_lab.reproductions.items import Row, corrected, row

_ONE = Sensitivity.of_patterns(((1,),))

# Printed probabilities, one line for each original value 0 to 5, one entry for each range 0 to 4.
_TABLE2 = {
    ("laplace", "1.5", 7): """0.82 0.96 0.99 1.00 1.00
                              0.64 0.96 0.99 1.00 1.00
                              0.64 0.92 0.99 1.00 1.00
                              0.64 0.92 0.98 1.00 1.00
                              0.64 0.92 0.98 1.00 1.00
                              0.64 0.92 0.98 1.00 1.00""",
    ("laplace", "0.5", 7): """0.63 0.78 0.87 0.93 0.96
                              0.25 0.78 0.87 0.93 0.96
                              0.25 0.55 0.87 0.93 0.96
                              0.25 0.55 0.74 0.93 0.96
                              0.25 0.55 0.74 0.85 0.96
                              0.25 0.55 0.74 0.85 0.92""",
    ("normal", "1.5", 12): """0.57 0.70 0.81 0.89 0.94
                              0.14 0.70 0.81 0.89 0.94
                              0.14 0.40 0.81 0.89 0.94
                              0.14 0.40 0.62 0.89 0.94
                              0.14 0.40 0.62 0.78 0.94
                              0.14 0.40 0.62 0.78 0.88""",
    ("normal", "0.5", 10): """0.54 0.63 0.71 0.78 0.84
                              0.09 0.63 0.71 0.78 0.84
                              0.09 0.26 0.71 0.78 0.84
                              0.09 0.26 0.42 0.78 0.84
                              0.09 0.26 0.42 0.57 0.84
                              0.09 0.26 0.42 0.57 0.69""",
}


def noise_of(kind: str, epsilon: str, limit: int) -> TruncatedLaplace | TruncatedNormal:
    """The paper's mechanism of a kind."""
    if kind == "laplace":
        return TruncatedLaplace(rate=Fraction(epsilon), limit=limit)
    return TruncatedNormal.of_paper(epsilon, limit)


def within(law: IntegerLaw, value: int, reach: int) -> float:
    """P(the shown value is within `reach` of the original one), negative values shown as zero."""
    low, high = law.support
    assert low is not None and high is not None
    noise = np.arange(low, high + 1)
    shown = np.maximum(value + noise, 0)
    return float(Additive(law).pmf(noise)[np.abs(shown - value) <= reach].sum())


def table2(full: bool = False) -> list[Row]:
    """All 120 probabilities of Table 2."""
    rows = []
    for (kind, epsilon, limit), printed in _TABLE2.items():
        law = noise_of(kind, epsilon, limit)
        for value, line in enumerate(printed.splitlines()):
            for reach, text in enumerate(line.split()):
                name = f"{kind} eps={epsilon} m={limit} a={value} within={reach}"
                rows.append(row(name, text, within(law, value, reach)))
    return rows


_DELTAS = (
    ("laplace", "1", 10, "0.00002", "5.1"),
    ("laplace", "0.5", 10, "0.0016", "5.1"),
    ("normal", "1", 10, "0.001", "5.2"),
    ("normal", "0.5", 10, "0.008", "5.2"),
    ("laplace", "1.5", 7, "0.00002", "Table 2"),
    ("normal", "1.5", 12, "0.00002", "Table 2"),
    ("laplace", "0.5", 7, "0.008", "Table 2"),
    ("normal", "0.5", 10, "0.008", "Table 2"),
    ("laplace", "0.1", 10, "0.0283", "Table 3"),
    ("laplace", "0.1", 7, "0.0470", "Table 3"),
    ("laplace", "0.5", 10, "0.0017", "Table 3"),
    ("laplace", "0.5", 7, "0.0076", "Table 3"),
    ("laplace", "0.5", 5, "0.02", "6.2"),
    ("laplace", "0.5", 10, "0.00166", "6.2"),
)
_NORMAL_LIMITS = (("0.1", 8), ("0.5", 10), ("1", 12), ("1.5", 12), ("2", 13), ("3", 14))


def deltas(full: bool = False) -> list[Row]:
    """Every delta that the paper states, and what it says about delta."""
    rows = []
    for kind, epsilon, limit, printed, place in _DELTAS:
        profile = noise_of(kind, epsilon, limit).profile(_ONE, Relation.ADD_REMOVE)
        exact = float(profile.delta_at(Fraction(epsilon)))
        rows.append(row(f"delta {kind} eps={epsilon} m={limit} ({place})", printed, exact))
    rows.append(_looseness())
    rows += [_normal_epsilon(epsilon, limit) for epsilon, limit in (("1", 10), ("1.5", 12))]
    rows += [_equal_delta(epsilon, limit) for epsilon, limit in _NORMAL_LIMITS]
    rows += [_expected_loss(epsilon) for epsilon in ("0.5", "1", "1.5")]
    rows += [_overlapping(cells) for cells in (2, 7, 15)]
    return rows


def _looseness() -> Row:
    """The remark after (4.11) that delta could be much smaller: it is attained, at every larger epsilon as well."""
    profile = TruncatedLaplace(Fraction(1), 10).profile(_ONE, Relation.ADD_REMOVE)
    largest = float(profile.delta_at(Fraction(20)))
    is_smaller = bool(largest < float(profile.delta) * (1 - 1e-9))
    return corrected("delta of truncated laplace could be much smaller (4.11)", True, is_smaller, largest)


def _normal_epsilon(epsilon: str, limit: int) -> Row:
    """The paper's epsilon beside the largest finite loss."""
    exact = TruncatedNormal.of_paper(epsilon, limit).profile(_ONE, Relation.ADD_REMOVE).epsilon
    return corrected(f"epsilon normal eps={epsilon} m={limit}", epsilon, float(epsilon), float(exact or 0))


def _equal_delta(epsilon: str, limit: int) -> Row:
    """5.6.2: the normal limit whose delta is nearest (in ratio) to that of the Laplace noise with m = 7."""
    target = float(TruncatedLaplace(Fraction(epsilon), 7).profile(_ONE, Relation.ADD_REMOVE).delta)

    def distance(m: int) -> float:
        mine = float(TruncatedNormal.of_paper(epsilon, m).profile(_ONE, Relation.ADD_REMOVE).delta)
        return abs(float(np.log(mine / target)))

    return row(f"normal m with the delta of laplace m=7, eps={epsilon}", str(limit), min(range(2, 40), key=distance))


def _expected_loss(epsilon: str) -> Row:
    """5.6.1: the untruncated expected loss lacks a factor two."""
    a = exp(-float(epsilon))
    published = a / ((1 + 2 * a / (1 - a)) * (a - 1) ** 2)
    points, mass = Additive(DiscreteLaplace(Fraction(epsilon))).central()
    better = float((np.abs(points) * mass).sum())
    return corrected(f"expected |b - a| untruncated laplace eps={epsilon}", None, published, better)


def _overlapping(cells: int) -> Row:
    """Truncated noise at epsilon / d in d overlapping cells: delta of the whole list, where one cell's is p(m)."""
    law = TruncatedLaplace(Fraction(1, cells), 10)
    one = float(law.profile(_ONE, Relation.ADD_REMOVE).delta)
    whole = law.profile(Sensitivity.of_patterns(((1,) * cells,)), Relation.ADD_REMOVE).delta
    return corrected(f"delta laplace eps=1 m=10 d={cells} overlapping cells", None, one, float(whole))


def _plan(shape: tuple[int, ...], margins: tuple[tuple[int, ...], ...], epsilon: Fraction) -> TablePlan:
    letters = "abcdefgh"[: len(shape)]
    labels = {v: tuple(f"{v}{k}" for k in range(n)) for v, n in zip(letters, shape, strict=True)}
    variables = {v: Variable(name=v, domain=Categories(labels=labels[v])) for v in letters}
    domain = Domain(name="list", population="list", version="1", variables=variables, neighbours=Neighbours())
    axes = [Axis(variable=v, labels=labels[v], codes=tuple(range(len(labels[v])))) for v in letters]
    names = [tuple(letters[a] for a in m) for m in margins]
    budget = Budget(definition="pure", epsilon=epsilon)
    return plan_list(domain, axes, names, (), budget, registry.get("definitions", "pure")())


def section7(full: bool = False) -> list[Row]:
    """Deviations times epsilon, at a small epsilon so that discrete and continuous noise agree."""
    epsilon = Fraction(1, 1000)
    pairs, every = all_margins(4, 2, 2), all_margins(4, 4, 1)
    plan = _plan((10,) * 4, pairs, epsilon)
    by_strategy = {a["strategy"]: a for a in plan.preview["alternatives"]}
    scale = float(epsilon)
    equal = float(by_strategy["equal"]["rmse_before_least_squares"]) * scale
    best = float(plan.preview["rmse"]) * scale
    whole = DiscreteLaplace(epsilon / len(every))
    rows = [
        row("cells that move, all margins of a 4-way table", "15", len(every)),
        row("cells that move, all 2-way margins of a 4-way table", "6", len(pairs)),
        row("cells that move, all margins of a 3-way table", "7", len(all_margins(3, 3, 1))),
        row("sd interior cell, t=4 C=10, interior only", "1.414", sqrt(2)),
        row("sd 2-way margin from the interior, t=4 C=10", "14", float(by_strategy["interior"]["rmse"]) * scale),
        row("sd 2-way margin, only 2-way margins perturbed", "8.5", equal, corrected=best),
        row("sd any cell, everything perturbed", "21", sqrt(whole.variance) * scale),
        row(
            "shares eps/3 twice and eps/15 five times add up to eps",
            True,
            2 * Fraction(1, 3) + 5 * Fraction(1, 15) == 1,
        ),
    ]
    after = _plan((10,) * 4, ((0, 1, 2, 3), *pairs), Fraction(1))
    rows.append(row("best strategy for interior and 2-way margins, eps=1: rmse", None, float(after.preview["rmse"])))
    rows.append(row("best strategy for 2-way margins alone, after least squares", None, best))
    return rows
