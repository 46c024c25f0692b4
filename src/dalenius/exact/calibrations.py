"""Calibrations of this process, kept: whoever looks at a preview and then asks for the release waits once.

What is kept depends on a family of noise, a declared sensitivity and a budget, never on data or on who asks; the work
is counted in every plan as if it were done there, so that no refusal depends on what was asked before.
"""

from functools import lru_cache
from typing import Any

from dalenius import limits
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported


def calibrated(
    family: Any, sensitivity: Sensitivity, relation: Relation, definition: Definition, budget: Budget
) -> Mechanism:
    if type(definition).__init__ is not object.__init__:
        # One definition of a kind may differ from another.
        return calibrate(family, sensitivity, relation, definition, budget)
    asked = (family, sensitivity, relation, type(definition), budget)
    made, message, detail, atoms = _calibration(*asked)
    limits.spend_once(asked, atoms)
    if made is None:
        raise Unsupported(message, **detail)
    return made


@lru_cache(maxsize=1024)
def _calibration(
    family: Any, sensitivity: Sensitivity, relation: Relation, definition: type[Definition], budget: Budget
) -> tuple[Mechanism | None, str, dict[str, Any], int]:
    """A member or the words of a refusal, and the work that it took."""
    made, message, detail = None, "", {}
    with limits.counted() as atoms:
        try:
            made = calibrate(family, sensitivity, relation, definition(), budget)
        except Unsupported as refusal:
            message, detail = refusal.message, refusal.detail
    return made, message, detail, atoms[0]
