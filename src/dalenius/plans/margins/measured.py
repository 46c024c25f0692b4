"""Margins measured by themselves with shares of one budget, then least squares: what several strategies share."""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

from dalenius.algebra.margins import Margin
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.sensitivity import Sensitivity
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import PARTS, Candidate, Key, Setting


def measured(setting: Setting, allotment: Allotment, name: str, shares: Mapping[Margin, float]) -> Candidate:
    """The option that spends these shares on these margins."""
    workload = setting.workload
    family = registry.get("mechanisms", setting.mechanism or allotment.mechanism)
    steps = {m: setting.step(" x ".join(setting.axes[a].name for a in m) or "total", m) for m in shares}
    mechanisms: dict[Margin, Mechanism] = {}
    made: dict[tuple[Sensitivity, Fraction], Mechanism] = {}
    for margin, share in exact_shares(shares).items():
        sensitivity = steps[margin].statistic.sensitivity(setting.neighbours)
        if (sensitivity, share) not in made:
            definition, budget = allotment.part(share)
            made[sensitivity, share] = calibrate(family, sensitivity, setting.neighbours.relation, definition, budget)
        mechanisms[margin] = made[sensitivity, share]
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


def exact_shares(shares: Mapping[Key, float]) -> dict[Key, Fraction]:
    """Shares as rationals that add up to exactly one; the largest takes what rounding left."""
    whole = {m: int(s * PARTS) for m, s in shares.items()}
    largest = max(whole, key=lambda m: whole[m])
    whole[largest] += PARTS - sum(whole.values())
    return {m: Fraction(k, PARTS) for m, k in whole.items() if k}
