"""Margins measured by themselves with shares of one budget, then least squares: what several strategies share."""

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any, TypeVar

from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.core.query import TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.linear.margins import Margin
from dalenius.measurements.noisy import Noisy
from dalenius.methods.margins.setting import LEAST_VARIANCE, PARTS, Allotment, Candidate, Setting
from dalenius.statistics.count import Count

Key = TypeVar("Key")
"""What has a share: a margin, or a level by a margin."""


def measured(setting: Setting, purse: Allotment, name: str, shares: Mapping[Margin, float]) -> Candidate:
    """The option that spends these shares on these margins."""
    workload = setting.workload
    family = registry.get("mechanisms", setting.mechanism or purse.mechanism)
    mechanisms: dict[Margin, Mechanism] = {}
    made: dict[tuple[Sensitivity, Fraction], Mechanism] = {}
    for margin, share in exact_shares(shares).items():
        query = TableQuery(space=setting.space(margin), where=setting.where)
        sensitivity = Count(query).sensitivity(setting.neighbours)
        if (sensitivity, share) not in made:
            definition, budget = purse.part(share)
            made[sensitivity, share] = calibrate(
                family, sensitivity, setting.neighbours.relation, definition, budget
            )
        mechanisms[margin] = made[sensitivity, share]
    # A budget so large that no noise is left must not divide by zero.
    variances = {m: max(law.variance, LEAST_VARIANCE) for m, law in mechanisms.items()}
    precisions = {m: 1 / v for m, v in variances.items()}
    components = workload.after_least_squares(precisions)
    if setting.total is not None:
        components[()] = 0.0

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        steps = tuple(
            Noisy(
                " x ".join(setting.axes[a].name for a in m) or "total",
                Count(TableQuery(space=setting.space(m), where=setting.where)),
                law,
            )
            for m, law in mechanisms.items()
        )
        specs = [{"axes": list(m), "variance": v} for m, v in variances.items()]
        return steps, specs

    # Without least squares each margin stands alone, so there is an error only if each was measured.
    alone = None
    if all(m in mechanisms for m in workload.margins):
        weights = zip(workload.margins, workload.importance, strict=True)
        cells = [(w * workload.size(m), mechanisms[m].variance) for m, w in weights]
        alone = (sum(c * v for c, v in cells) / sum(c for c, _ in cells)) ** 0.5
    score = setting.score(components) if all(v < inf for v in components.values()) else inf
    return Candidate(
        strategy=name,
        mechanism=family.name,
        components=components,
        score=score,
        build=build,
        before=alone,
    )


def exact_shares(shares: Mapping[Key, float]) -> dict[Key, Fraction]:
    """Shares as rationals that add up to exactly one; the largest takes what rounding left."""
    whole = {m: int(s * PARTS) for m, s in shares.items()}
    largest = max(whole, key=lambda m: whole[m])
    whole[largest] += PARTS - sum(whole.values())
    return {m: Fraction(k, PARTS) for m, k in whole.items() if k}
