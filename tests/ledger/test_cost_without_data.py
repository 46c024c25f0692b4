"""Cost is computable from the request and public metadata alone: here no data source exists at all."""

import subprocess
import sys

PROGRAM = """
import sys, tempfile
from fractions import Fraction
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core import registry
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.ledger import Charge, Ledger

# A contingency table over declared cells: one unit moves one count by one, whatever the data hold.
sensitivity = Sensitivity.of_patterns(((1,),))
definition = registry.get("definitions", "pure")
budget = Budget.of("pure", epsilon="0.5")
family = registry.get("mechanisms", "discrete_laplace")
mechanism = calibrate(family, sensitivity, Relation.ADD_REMOVE, definition(), budget)
cost = mechanism.profile(sensitivity, Relation.ADD_REMOVE).cost()
assert cost.epsilon <= Fraction(1, 2), cost
ledger = Ledger.open(tempfile.mkdtemp() + "/ledger.sqlite")
ledger.declarations.register("people", "census", "1", "fingerprint", "domain")
ledger.declarations.grant("people", "add-remove", 1, 0, by="custodian")
charge = Charge(
    population="people", relation=Relation.ADD_REMOVE, dataset="census", version="1", key="aa", request={},
    definition="pure", budget=budget.to_dict(), cost=cost, fingerprint="fingerprint",
)
assert ledger.quote(charge) == cost
assert ledger.reader.account("people").spent.rho == 0
assert ledger.reserve(charge).stored is None
assert not [name for name in sys.modules if name.startswith(("dalenius.engines", "duckdb", "pyarrow"))]
print(cost.to_dict())
"""


def test_a_cost_is_quoted_and_reserved_with_no_data_source():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rho" in done.stdout
