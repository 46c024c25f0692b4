"""Lists of margins: empirical error and covariance against the plan, exact privacy of imported tables, attacks at length."""

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from dalenius.algebra.margins import all_margins
from dalenius.core.budget import Budget
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import NotAllowed
from dalenius.exact import perturbation


def _errors(runs: int, rows: int) -> dict[str, Any]:
    """Mean squared error over runs of all 63 margins, as a ratio to the planned one."""
    import pyarrow as pa
    from bench.margins import CENSUS, _truth, planned, released, rows_of, world

    from dalenius.engines.duckdb import DuckDBSource

    margins = all_margins(7, 3, 1)
    columns, codes = rows_of(CENSUS, rows, 11)
    # The rows stay the same from run to run, so they are counted once.
    source = SimpleNamespace(table=cache(DuckDBSource(world(CENSUS)[0], pa.table(columns)).table))
    truth = [_truth(CENSUS, codes, m) for m in margins]
    found: dict[str, Any] = {}
    for definition, amounts in (("zero_concentrated", {"rho": "1/2"}), ("pure", {"epsilon": 1})):
        plan, _ = planned(CENSUS, margins, Budget.of(definition, **amounts))
        squares = []
        for _ in range(runs):
            tables = released(plan, source)
            cells = [(t.values - x) ** 2 / t.variance for t, x in zip(tables, truth, strict=True)]
            squares.append(float(np.mean(np.concatenate(cells))))
        found[definition] = {"strategy": plan.strategy, "ratio": float(np.mean(squares)), "runs": runs}
    return found


def _planted() -> dict[str, bool]:
    """Wrong perturbation tables are refused, a right one is not."""
    from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

    one = Sensitivity.of_patterns(((1,),))
    good = perturbation.kernel_of(TruncatedLaplace(Fraction(1), 14), 30)
    found = {"good": perturbation.judge(good, one, Fraction(1), Fraction(1, 10**6)) > 0}
    wrong = {
        "classical": perturbation.max_entropy_kernel(5, 3.0),
        "too little noise": perturbation.kernel_of(TruncatedLaplace(Fraction(2), 14), 30),
        "too short": perturbation.kernel_of(TruncatedLaplace(Fraction(1), 9), 30),
    }
    for name, kernel in wrong.items():
        try:
            perturbation.judge(kernel, one, Fraction(1), Fraction(1, 10**6))
            found[name] = False
        except NotAllowed:
            found[name] = True
    return found


def run(quick: bool = False) -> dict[str, object]:
    """`ok` if every ratio of squared error to stated variance is within five standard errors, and plants are refused."""
    errors = _errors(3 if quick else 20, 100_000 if quick else 1_500_000)
    planted = _planted()
    # The ratio averages tens of thousands of correlated cells; 3 % is far more than five standard errors of 20 runs.
    tolerance = 0.06 if quick else 0.03
    is_close = all(abs(e["ratio"] - 1) < tolerance for e in errors.values())
    return {"ok": is_close and all(planted.values()), "errors": errors, "planted": planted}
