"""Levels by detail margins, measured by themselves with shares of one budget, then least squares: what several
strategies share.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.algebra.moves import Part
from dalenius.algebra.tree_split import part_precisions
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism, Statistic
from dalenius.core.domain import CellSpace
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.measurements.noisy import Noisy
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import table_name
from dalenius.plans.margins.setting import Candidate, Setting
from dalenius.statistics.count import Count
from dalenius.statistics.magnitude_table import MagnitudeTable

PARTS = 10**6
LEAST_VARIANCE = 1e-12


def measured(setting: Setting, allotment: Allotment, name: str, shares: Mapping[Part, float]) -> Candidate:
    """The option that spends these shares on these levels and margins."""
    family = registry.get("mechanisms", setting.mechanism or allotment.mechanism)
    spaces = {part: setting.space(part) for part in shares}
    statistics = {part: _statistic(setting, space) for part, space in spaces.items()}
    mechanisms = _mechanisms(setting, allotment, family, statistics, shares)
    unit = Fraction(1) if setting.amounts is None else setting.amounts.step
    # A budget so large that no noise is left must not divide by zero.
    variances = {p: max(law.variance, LEAST_VARIANCE) * float(unit) ** 2 for p, law in mechanisms.items()}
    precisions = {part: 1 / v for part, v in variances.items()}

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        made = (Noisy(table_name(spaces[p]), statistics[p], law, unit) for p, law in mechanisms.items())
        blocks = ({"axes": list(a), "variance": v} | level(k) for (k, a), v in variances.items())
        return tuple(made), list(blocks)

    def level(place: int) -> dict[str, int]:
        return {"level": place} if setting.levels else {}

    if setting.levels:
        law = setting.tree_law(part_precisions(setting.table, precisions))
        return Candidate(setting=setting, strategy=name, mechanism=family.name, law=law, build=build)
    components = setting.workload.after_least_squares({a: t for (_, a), t in precisions.items()})
    return Candidate(
        setting=setting,
        strategy=name,
        mechanism=family.name,
        law=setting.margins_law(components),
        build=build,
        before=_alone(setting, variances),
    )


def _statistic(setting: Setting, space: CellSpace) -> Statistic:
    """Counts, or totals of what each row adds."""
    amounts = setting.amounts
    if amounts is None:
        return Count(TableQuery(space=space, where=setting.where))
    query = amounts.query(space, setting.where)
    if amounts.is_plain_count:
        return Count(query)
    low, high = amounts.ends
    return MagnitudeTable(query=query, low=low, high=high)


def _mechanisms(
    setting: Setting,
    allotment: Allotment,
    family: Any,
    statistics: Mapping[Part, Statistic],
    shares: Mapping[Part, float],
) -> dict[Part, Mechanism]:
    """The noise of each table for its share; tables that move alike and have the same share are calibrated once."""
    mechanisms: dict[Part, Mechanism] = {}
    made: dict[tuple[Sensitivity, Fraction], Mechanism] = {}
    for part, share in _exact(shares).items():
        sensitivity = statistics[part].sensitivity(setting.neighbours)
        if (sensitivity, share) not in made:
            made[sensitivity, share] = calibrate(
                family, sensitivity, setting.neighbours.relation, *allotment.part(share)
            )
        mechanisms[part] = made[sensitivity, share]
    return mechanisms


def _exact(shares: Mapping[Part, float]) -> dict[Part, Fraction]:
    """Shares as rationals that add up to exactly one; the largest takes what rounding left."""
    whole = {part: int(s * PARTS) for part, s in shares.items()}
    largest = max(whole, key=lambda part: whole[part])
    whole[largest] += PARTS - sum(whole.values())
    return {part: Fraction(k, PARTS) for part, k in whole.items() if k}


def _alone(setting: Setting, variances: Mapping[Part, float]) -> float | None:
    """The error without least squares: each margin stands alone, so there is one only if each was measured."""
    workload = setting.workload
    if not all((0, m) in variances for m in workload.margins):
        return None
    weights = zip(workload.margins, workload.importance, strict=True)
    cells = [(w * workload.size(m), variances[0, m]) for m, w in weights]
    return float((sum(c * v for c, v in cells) / sum(c for c, _ in cells)) ** 0.5)
