"""Levels by detail margins, measured by themselves with shares of one budget: what several strategies along hierarchies
share.
"""

from collections.abc import Mapping
from typing import Any

from dalenius.algebra.tree_split import part_precisions
from dalenius.algebra.tree_table import Part
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Measurement, Mechanism
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.levels import LevelCandidate, LevelSetting
from dalenius.plans.margins.measured import exact_shares


def measured_levels(
    setting: LevelSetting, allotment: Allotment, name: str, shares: Mapping[Part, float]
) -> LevelCandidate:
    """The option that spends these shares on these levels and margins."""
    family = registry.get("mechanisms", setting.mechanism or allotment.mechanism)
    mechanisms: dict[Part, Mechanism] = {}
    steps = {part: setting.step(_name(setting, part), part) for part in shares}
    for part, share in exact_shares(shares).items():
        sensitivity = steps[part].statistic.sensitivity(setting.neighbours)
        definition, budget = allotment.part(share)
        mechanisms[part] = calibrate(family, sensitivity, setting.neighbours.relation, definition, budget)
    variances = {part: steps[part].variance(law) for part, law in mechanisms.items()}
    precisions = part_precisions(setting.table, {part: 1 / v for part, v in variances.items()})

    def build() -> tuple[tuple[Measurement, ...], list[dict[str, Any]]]:
        made = tuple(steps[part].measured(law) for part, law in mechanisms.items())
        return made, [{"level": k, "axes": list(m), "variance": v} for (k, m), v in variances.items()]

    return LevelCandidate(strategy=name, mechanism=family.name, law=setting.law(precisions), build=build)


def _name(setting: LevelSetting, part: Part) -> str:
    return " x ".join(axis.name for axis in setting.space(part).axes) or "total"
