"""Lists with too many impossible cells for least squares: the interior alone is measured, without noise in these cells,
and every margin is a sum of perturbed cells.
"""

from dataclasses import replace
from fractions import Fraction

from dalenius.algebra.nested import NestedLaw
from dalenius.core import registry
from dalenius.core.calibrate import calibrate
from dalenius.core.domain import CellSpace
from dalenius.core.query import TableQuery
from dalenius.measurements.noisy import Noisy
from dalenius.plans.allotments import Allotment, allotments
from dalenius.plans.margins.levels import root_setting, table_name
from dalenius.plans.margins.setting import Candidate, MarginsAsked, Setting
from dalenius.statistics.count import Count


def around_zeros(request: MarginsAsked) -> list[Candidate]:
    """The interior in every currency of the budget."""
    setting, whole = root_setting(request), CellSpace(request.axes, request.structural_zeros)
    spaces = tuple(whole if space.axes == whole.axes else space for space in setting.spaces)
    setting = replace(setting, spaces=spaces, impossible=whole.structural_indices)
    return [
        _interior(setting, allotment, whole)
        for allotment in allotments(request.definition, request.budget)
        if not allotment.is_by_loss
    ]


def _interior(setting: Setting, allotment: Allotment, whole: CellSpace) -> Candidate:
    family, neighbours = registry.get("mechanisms", setting.mechanism or allotment.mechanism), setting.neighbours
    statistic = Count(TableQuery(space=whole, where=setting.where))
    mechanism = calibrate(family, statistic.sensitivity(neighbours), neighbours.relation, *allotment.part(Fraction(1)))
    step = Noisy(table_name(whole), statistic, mechanism)
    views = tuple(view.detail for view in setting.table.shown)
    block = {"view": [list(range(size)) for size in whole.shape], "variance": mechanism.variance}
    return Candidate(
        setting=setting,
        strategy="interior",
        mechanism=family.name,
        law=NestedLaw(views, whole.shape, mechanism.variance, setting.impossible),
        build=lambda: ((step,), [block]),
    )
