"""What only the custodian may see before choosing a data-dependent method: plain results for `inspection`.

Every function here looks at exact data. Its result must reach nobody but the custodian, as `Confidential`, and choosing
a request after such a look is outside every guarantee.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from inspect import signature
from math import exp, log, tanh
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import ValuesQuery
from dalenius.errors import Unsupported
from dalenius.exact.accuracy import expected_error, gain
from dalenius.exact.order_statistics import prepare, rational_base
from dalenius.measurements.bootstrap_totals import BootstrapTotals, Option
from dalenius.measurements.local_laplace import LocalStatistic
from dalenius.statistics.dominance import Dominance
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership

QUESTIONS = (
    "Is more accuracy worth a guarantee that covers only the records that occur in this file?",
    "Do other safeguards (a secure room, registered users) make up for the weaker guarantee?",
    "Is the file closed: nobody will join, leave or be corrected later?",
    "Is the population alike, with few or no outliers?",
    "Is the worst case behind the declared bounds extremely rare?",
    "Are the possible values of a record unknown, so that no useful bound can be declared?",
    "Is the declared sensitivity out of reach because it is unbounded or cannot be computed?",
    "Can the method, and the scale of its noise, stay unpublished for ever?",
    "Is what the release says about the data beyond the answer itself acceptable?",
)


def sensitivities(
    statistic: Any, rows: Sequence[IntArray], neighbours: Neighbours, beta: Fraction | None = None
) -> dict[str, Any]:
    """How far one record moves a statistic: on any data, at these rows, between data sets made of them, and smoothly.

    In steps of the statistic's own grid, in the l1 norm. What is not proved for a statistic is said in the words of its
    refusal.
    """
    looks: dict[str, Callable[[], Any]] = {"on any data": lambda: _worst(statistic, neighbours)}
    if hasattr(statistic, "local"):
        looks["at these data"] = lambda: statistic.local(*rows, neighbours)
    if hasattr(statistic, "bootstrap"):
        looks["between data sets made of these records"] = lambda: _within(statistic, rows, neighbours)
    if hasattr(statistic, "smooth"):
        is_table = "base" not in signature(statistic.smooth).parameters
        base = () if is_table else None if beta is None else (rational_base(beta),)
        if base is not None:
            said = "smooth" if is_table else f"smooth, beta = {float(beta or 0):.4g}"
            looks[said] = lambda: statistic.smooth(*rows, *base, neighbours)
    report: dict[str, Any] = {}
    for name, look in looks.items():
        try:
            report[name] = float(look())
        except Unsupported as refusal:
            report[name] = refusal.message
    return report


def _within(statistic: Any, rows: Sequence[IntArray], neighbours: Neighbours) -> Any:
    if neighbours.max_rows > 1:
        raise Unsupported("Sensitivities within the data are for one row to a unit.")
    return statistic.bootstrap(*rows, neighbours)


def _worst(statistic: Any, neighbours: Neighbours) -> Any:
    if hasattr(statistic, "worst"):
        return statistic.worst(neighbours)
    return statistic.sensitivity(neighbours).l1


def plausible_deniability(
    cells: Sequence[int] | IntArray,
    values: Sequence[int] | IntArray,
    position: int,
    membership: Membership = Membership.PRIVATE,
    declared: Sequence[int] = (),
) -> dict[str, Any]:
    """Which values the owner of one record can claim under bootstrap privacy, and how far they reach.

    With public membership only values of the own cell (and declared ones) can be claimed; with private membership any
    record of the file. Someone whose value does not occur can claim nothing.
    """
    owner, x = np.asarray(cells, dtype=np.int64), np.asarray(values, dtype=np.int64)
    reachable = x[owner == owner[position]] if membership is Membership.PUBLIC else x
    claims = np.unique(np.concatenate((reachable, np.asarray(declared, dtype=np.int64))))
    own = int(x[position])
    return {
        "own value": own,
        "values that can be claimed": len(claims),
        "smallest claim": int(claims[0]),
        "largest claim": int(claims[-1]),
        "nearest other claim": _nearest(claims, own),
        "stands alone": len(claims) == 1,
        "largest in the file": own == int(x.max()),
    }


def _nearest(claims: IntArray, own: int) -> int | None:
    others = claims[claims != own]
    return None if not len(others) else int(others[np.argmin(np.abs(others - own))])


def compare_options(
    statistic: MagnitudeTable,
    minima: Sequence[int] | IntArray,
    maxima: Sequence[int] | IntArray,
    epsilon: Fraction,
    floor: int = 1,
) -> dict[str, float]:
    """Expected sum of absolute errors of the options of O'Keefe & Charest, in steps, beside declared bounds."""
    neighbours = Neighbours(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS)
    make = partial(BootstrapTotals, name="x", statistic=statistic, neighbours=neighbours, epsilon=epsilon, floor=floor)
    result = {}
    for name, option, membership in (
        ("(i) one scale, membership private", Option.ONE, Membership.PRIVATE),
        ("(i) one scale, membership public", Option.ONE, Membership.PUBLIC),
        ("(ii) scale per cell, membership private", Option.PER_CELL, Membership.PRIVATE),
        ("(iii) scale per cell, membership public", Option.PER_CELL, Membership.PUBLIC),
    ):
        chosen = make(option=option, membership=membership)
        result[name] = sum(expected_error(s) for s in chosen.scales(minima, maxima))
    declared = expected_error(statistic.sensitivity(Neighbours(relation=Relation.REPLACE)).l1 / epsilon)
    result["differential privacy, declared bounds"] = statistic.query.space.possible * declared
    return result


def checklist(
    values: Sequence[int] | IntArray, low: int, high: int, floor: int, answers: Mapping[str, bool] | None = None
) -> dict[str, Any]:
    """The questions of O'Keefe & Charest (2018) 4.3, with what the data say about some of them."""
    x = prepare(values, low, high).values
    n = len(x)
    observed = int(x[-1] - x[0]) if n else 0
    upper = int(x[max(0, -(-99 * n // 100) - 1)]) if n else 0
    return {
        "questions": list(QUESTIONS),
        "answers": dict(answers or {}),
        "unanswered": [q for q in QUESTIONS if q not in (answers or {})],
        "largest value over the 99th percentile": float(x[-1]) / upper if n and upper else None,
        "accuracy gained over declared bounds": float(gain(high - low, observed)) if observed else None,
        "the floor decides": observed < floor,
        "the largest value stands alone": bool(n > 1 and x[-1] != x[-2]),
    }


def true_delta(
    statistic: LocalStatistic, values: Sequence[int] | IntArray, epsilon: Fraction, floor: int, neighbours: Neighbours
) -> dict[str, float]:
    """What individual privacy hides at the data from an intruder who refits the noise to each alternative.

    The loss is unbounded wherever scales differ, so the answer is a delta at epsilon: the largest found among the
    alternatives that move a record next to the answer or to the ends, a lower bound of the truth.
    """
    x = [int(v) for v in np.sort(np.asarray(values, dtype=np.int64))]
    here, *others = (_fitted(statistic, d, epsilon, floor, neighbours) for d in [x, *_others(x, neighbours)])
    deltas = [_hockey_stick(here, there, float(epsilon)) for there in others]
    return {"epsilon": float(epsilon), "delta at least": max(deltas, default=0.0), "alternatives": float(len(deltas))}


def _others(x: list[int], neighbours: Neighbours) -> list[list[int]]:
    n, middle = len(x), len(x) // 2
    places = sorted({p for p in (0, 1, middle - 1, middle, middle + 1, n - 2, n - 1) if 0 <= p < n})
    values = sorted({x[p] for p in places} | {x[0] - 1, x[-1] + 1} if n else set())
    if neighbours.is_replace:
        return [sorted([*x[:p], v, *x[p + 1 :]]) for p in places for v in values]
    return [[*x[:p], *x[p + 1 :]] for p in places] + [sorted([*x, v]) for v in values]


def _fitted(
    statistic: LocalStatistic, x: Sequence[int], epsilon: Fraction, floor: int, neighbours: Neighbours
) -> tuple[int, float]:
    """(answer, rate of the noise) at a data set."""
    array = np.array(x, dtype=np.int64)
    return statistic.value(array), float(epsilon) / max(floor, statistic.local(array, neighbours))


def _hockey_stick(left: tuple[int, float], right: tuple[int, float], epsilon: float) -> float:
    """delta between two discrete Laplace laws with different centres and rates, the worse direction."""
    reach = int(40 / min(left[1], right[1])) + abs(left[0] - right[0]) + 1
    centre = (left[0] + right[0]) // 2
    step = max(1, reach // 200_000)
    x = np.arange(centre - reach, centre + reach + 1, step)

    def logs(law: tuple[int, float]) -> Any:
        return log(tanh(law[1] / 2)) - law[1] * np.abs(x - law[0])

    p, q = logs(left), logs(right)
    one = float(np.maximum(np.exp(p) - exp(epsilon) * np.exp(q), 0).sum()) * step
    other = float(np.maximum(np.exp(q) - exp(epsilon) * np.exp(p), 0).sum()) * step
    return min(1.0, max(one, other))


def dominance(
    cells: Sequence[int] | IntArray, values: Sequence[int] | IntArray, *, p: int = 10, n: int = 2, k: int = 80
) -> dict[int, dict[str, bool]]:
    """Cells in which a few contributors dominate: p % rule and (n, k) rule, for the custodian's eyes.

    A published flag, or a suppressed cell, would tell; the charged way is `statistics.dominance`.
    """
    owner, x = np.asarray(cells, dtype=np.int64), np.asarray(values, dtype=np.int64)
    one = (ValuesQuery(value="x"),)
    rules = {"p%": Dominance(queries=one, p=p), "(n, k)": Dominance(queries=one, n=n, k=k)}
    return {
        cell: {name: rule.is_dominated(x[owner == cell]) for name, rule in rules.items()}
        for cell in np.unique(owner[owner >= 0]).tolist()
    }
