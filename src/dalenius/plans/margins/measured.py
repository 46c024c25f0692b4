"""Margins, or levels by detail margins, measured by themselves with shares of one budget, then least squares: what
several strategies share.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

from dalenius.algebra.margins import Margin
from dalenius.algebra.tree_split import part_precisions
from dalenius.algebra.tree_table import Part
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.neighbours import Neighbours
from dalenius.core.sensitivity import Sensitivity
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import LevelCandidate, LevelSetting
from dalenius.plans.margins.setting import PARTS, Candidate, Key, Setting


def measured(setting: Setting, allotment: Allotment, name: str, shares: Mapping[Margin, float]) -> Candidate:
    """The option that spends these shares on these margins."""
    workload = setting.workload
    family = registry.get("mechanisms", setting.mechanism or allotment.mechanism)
    steps = {m: setting.step(" x ".join(setting.axes[a].name for a in m) or "total", m) for m in shares}
    mechanisms = _mechanisms(setting.neighbours, allotment, family, steps, shares)
    variances = {m: steps[m].variance(law) for m, law in mechanisms.items()}
    precisions = {m: 1 / v for m, v in variances.items()}
    components = workload.after_least_squares(precisions)
    if setting.total is not None:
        components[()] = 0.0

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        made = tuple(steps[m].measured(law) for m, law in mechanisms.items())
        return made, [{"axes": list(m), "variance": v} for m, v in variances.items()]

    # Without least squares each margin stands alone, so there is an error only if each was measured.
    alone = None
    if all(m in mechanisms for m in workload.margins):
        weights = zip(workload.margins, workload.importance, strict=True)
        cells = [(w * workload.size(m), variances[m]) for m, w in weights]
        alone = (sum(c * v for c, v in cells) / sum(c for c, _ in cells)) ** 0.5
    score = setting.score(components) if all(v < inf for v in components.values()) else inf
    return Candidate(
        strategy=name, mechanism=family.name, components=components, score=score, build=build, before=alone
    )


def measured_levels(
    setting: LevelSetting, allotment: Allotment, name: str, shares: Mapping[Part, float]
) -> LevelCandidate:
    """The option that spends these shares on these levels and margins."""
    family = registry.get("mechanisms", setting.mechanism or allotment.mechanism)
    names = {part: " x ".join(axis.name for axis in setting.space(part).axes) or "total" for part in shares}
    steps = {part: setting.step(names[part], part) for part in shares}
    mechanisms = _mechanisms(setting.neighbours, allotment, family, steps, shares)
    variances = {part: steps[part].variance(law) for part, law in mechanisms.items()}
    precisions = part_precisions(setting.table, {part: 1 / v for part, v in variances.items()})

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        made = tuple(steps[part].measured(law) for part, law in mechanisms.items())
        return made, [{"level": k, "axes": list(m), "variance": v} for (k, m), v in variances.items()]

    return LevelCandidate(strategy=name, mechanism=family.name, law=setting.law(precisions), build=build)


def _mechanisms(
    neighbours: Neighbours, allotment: Allotment, family: Any, steps: Mapping[Key, Any], shares: Mapping[Key, float]
) -> dict[Key, Mechanism]:
    """The noise of each step for its share; steps that move alike and have the same share are calibrated once."""
    mechanisms: dict[Key, Mechanism] = {}
    made: dict[tuple[Sensitivity, Fraction], Mechanism] = {}
    for key, share in exact_shares(shares).items():
        sensitivity = steps[key].statistic.sensitivity(neighbours)
        if (sensitivity, share) not in made:
            definition, budget = allotment.part(share)
            made[sensitivity, share] = calibrate(family, sensitivity, neighbours.relation, definition, budget)
        mechanisms[key] = made[sensitivity, share]
    return mechanisms


def exact_shares(shares: Mapping[Key, float]) -> dict[Key, Fraction]:
    """Shares as rationals that add up to exactly one; the largest takes what rounding left."""
    whole = {m: int(s * PARTS) for m, s in shares.items()}
    largest = max(whole, key=lambda m: whole[m])
    whole[largest] += PARTS - sum(whole.values())
    return {m: Fraction(k, PARTS) for m, k in whole.items() if k}
