"""Lists with too many impossible cells for least squares: every margin is a sum of the interior's perturbed cells."""

from dataclasses import replace

import numpy as np
import pytest

from dalenius.algebra import joint
from dalenius.algebra.nested import NestedLaw
from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.testing.asking import plan_of
from dalenius.testing.toy import kit_domain

SIZE = 60
LABELS = tuple(f"x{k}" for k in range(SIZE))


def country() -> Domain:
    """Two variables of sixty categories, the first in two groups; more than half of their cross is impossible."""
    own = Categories(labels=LABELS, missing=LABELS[0], unseen=LABELS[0])
    half = Hierarchy(level="half", groups=("low", "high"), parent=tuple(int(k >= 25) for k in range(SIZE)))
    variables = {"a": Variable(name="a", domain=own, hierarchies=(half,)), "b": Variable(name="b", domain=own)}
    domain = kit_domain(variables, Neighbours(), is_public=True)
    return replace(domain, structural_zeros=({"a": LABELS[:58], "b": LABELS[:30]},))


@pytest.mark.parametrize("objective", ["cells", "tables", "maximum"])
def test_levels_of_one_axis_stand_beside_each_other(objective: str) -> None:
    asked = {"rows": ["a", "b"], "margins": [["a", "b"], ["a"], ["a.half"], []], "objective": objective}
    plan = plan_of(country(), {"table": asked, "privacy": {"definition": "pure", "epsilon": 1}})
    assert plan.strategy == "interior" and "impossible cells" in plan.preview["note"]
    assert isinstance(plan.law, Joint) and plan.law.structure == NestedLaw.structure
    cells, single, halves, total = joint.variances(plan.law)
    one = cells.max()
    assert np.count_nonzero(cells == 0) == 58 * 30
    assert single == pytest.approx(cells.reshape(SIZE, SIZE).sum(axis=1))
    assert halves == pytest.approx([25 * 30 * one, (33 * 30 + 2 * 60) * one])
    assert total == pytest.approx(halves.sum())
