"""All districts within ±10 at 95 percent: the amount that the planner finds on the demo survey, against recorded releases."""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.core.domain import Domain
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.curator.planner import Planner
from dalenius.demo.survey import dataset_name, materialise
from dalenius.engines.memory import MemorySource
from dalenius.spec.load import load_dataset
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

WITHIN, LEVEL = 10.0, "region.district"
MARGINS = [["region", "sex"], [LEVEL], ["region.state"], []]


def run(quick: bool = False) -> dict[str, object]:
    """`ok` if 95 ± 1.5 percent of the districts are within ±10, and 5 percent less rho would not be enough."""
    domain = _declared()
    planner = Planner(domain=domain, policy=PolicyDocument())
    table = {"rows": ["region", "sex"], "margins": MARGINS, "universe": "own", "objective": "tables"}
    privacy = {"error_at_most": WITHIN, "in_table": [LEVEL]}
    request = planner.completed(RequestDocument.from_dict({"table": table, "privacy": privacy}))
    assert isinstance(request, RequestDocument), "one table stays one"
    rho = request.privacy.rho or Fraction(0)
    runs = 40 if quick else 200
    share, cells = _held(planner, request, domain, runs)
    reached, missed = (_half_width(planner, _at(request, rho * part)) for part in (1, Fraction(95, 100)))
    # Forty districts of two hundred releases: a standard error of a quarter of a percent.
    is_good = abs(share - 0.95) <= 0.015 and missed > WITHIN >= reached
    return {
        "ok": is_good,
        "rho": float(rho),
        "half_width": reached,
        "releases": runs,
        "districts": cells,
        "share_within": share,
        "half_width_at_5_percent_less_rho": missed,
    }


def _half_width(planner: Planner, request: RequestDocument) -> float:
    return float(1.959964 * joint.largest_variances(planner.plan(request).law)[1] ** 0.5)  # type: ignore[arg-type]


def _declared() -> Domain:
    with TemporaryDirectory() as folder:
        materialise(Path(folder), persons=50)
        return load_dataset(Path(folder) / dataset_name(2024)).domain()


def _at(request: RequestDocument, amount: Fraction) -> RequestDocument:
    return request.model_copy(update={"privacy": request.privacy.model_copy(update={"rho": amount})})


def _held(planner: Planner, request: RequestDocument, domain: Domain, runs: int) -> tuple[float, int]:
    """The share of districts within ±10 of the truth, over recorded releases of an empty file: noise does not look at data."""
    plan = planner.plan(request)
    columns: dict[str, list[Any]] = {variable.source_column: [] for variable in domain.variables.values()}
    source = MemorySource(domain, columns | {str(domain.unit_id): []}, b"targets")
    near, cells = [], 0
    for number in range(runs):
        noise = RecordedRandomness(f"targets {number}")
        passage = gate.run(plan, source, plan.neighbours, plan.reservation, noise)
        districts = plan.assemble(passage.blocks)[1].values[:-1]
        near.append(float((np.abs(districts) <= WITHIN).mean()))
        cells = len(districts)
    return float(np.mean(near)), cells
