"""Every measure is a verb of the curator, typed and documented."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.curator import typed_verbs
from tools.verbs import PLACE, stub

from dalenius import Curator, Release, table
from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.errors import DaleniusError, DocumentError

DATASET = {
    "dataset": {"name": "toy", "population": "toy", "public": True, "size": 40},
    "design": {"draws": "independent"},
    "variables": {
        "region": {"label": "Region of residence", "categories": list("abcdefg"), "missing": "a", "unseen": "a"},
        "sex": {"categories": ["m", "f"], "missing": "m", "unseen": "m"},
        "income": {"bounds": [0, 1000], "step": 1, "missing": 0},
        "w": {"bounds": [1, 4], "step": 1, "weight": True, "missing": 1},
    },
}
ROWS = {"region": list("abcd") * 10, "sex": ["m", "f"] * 20, "income": list(range(0, 800, 20)), "w": [1, 2] * 20}
POLICY = {"budget": {"rho": 50}, "allow": {"acknowledge": ["fixed_weights"]}}


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    made = Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, policy=POLICY)
    made.register()
    return made


def test_a_verb_releases_what_the_request_would(curator: Curator) -> None:
    released = curator.mean("income", by="region", where={"sex": "f"}, weight="w", rho=1)
    assert isinstance(released, Release)
    request = table(measure="mean", of="income", rows="region", where={"sex": "f"}, weight="w", rho=1)
    assert curator.release(request).provenance.ledger_entry == released.provenance.ledger_entry
    assert list(curator.count(by=["sex", "region"], rho=1).to_frame().columns[:2]) == ["sex", "region"]
    assert len(curator.quantiles("income", q=["1/4", "3/4"], rho=1).table.values) == 2


def test_a_plan_costs_nothing(curator: Curator) -> None:
    left = curator.left
    planned = curator.total("income", by="sex", error_at_most=500, plan=True)
    assert isinstance(planned, TablePlan)
    assert planned.error <= 500
    assert curator.left == left


def test_every_measure_has_a_verb_with_help_and_completion(curator: Curator) -> None:
    for name, method in registry.every("methods").items():
        verb = getattr(curator, name)
        assert name in dir(curator)
        assert not hasattr(Curator, name), f"{name} hides a method of Curator"
        parameters = inspect.signature(verb).parameters
        assert ("of" in parameters) == method.takes_of
        assert {"by", "where", "rho", "epsilon", "error_at_most", "plan"} | set(method.Parameters.model_fields) <= set(
            parameters
        )
        assert "Annotated" not in str(inspect.signature(verb))
        assert "plan=True" in verb.__doc__


def test_what_is_wrong_is_said_before_anything_is_spent(curator: Curator) -> None:
    left = curator.left
    with pytest.raises(AttributeError, match="no attribute 'meen'"):
        curator.meen("income", rho=1)  # type: ignore[attr-defined]
    with pytest.raises(DocumentError, match="Did you mean 'error'"):
        curator.mean("income", eror="noise", rho=1)  # type: ignore[call-overload]
    with pytest.raises(DaleniusError, match="needs of"):
        curator.mean(by="sex", rho=1)  # type: ignore[call-overload]
    assert curator.left == left


def test_types_are_made_from_the_measures() -> None:
    assert ast.dump(ast.parse(stub())) == ast.dump(ast.parse(PLACE.read_text())), "run python tools/verbs.py"


def test_what_the_checkers_accept_runs(curator: Curator) -> None:
    released = typed_verbs.use(curator)
    assert [release.about.measure for release in released[:3]] == ["count", "mean", "median"]
    assert released[0].about.order == ("region", "sex")


@pytest.mark.long
def test_pyright_reads_the_verbs_as_mypy_does(tmp_path: Path) -> None:
    """mypy reads `typed_verbs.py` in `make types`; an ignored error that does not occur is an error to both."""
    settings = {
        "include": [typed_verbs.__file__, str(PLACE)],
        "reportUnnecessaryTypeIgnoreComment": "error",
        "enableTypeIgnoreComments": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(tmp_path), "--pythonpath", sys.executable]
    # Node comes as a wheel, so that nothing is looked for on the machine or fetched.
    found = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(tmp_path)}, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_notebook_shows_variables_budget_and_one_sentence_for_an_error(curator: Curator) -> None:
    html = curator._repr_html_()
    assert "Region of residence" in html
    assert "a, b, c, d, e, … (7)" in html
    assert "0 to 1,000, step 1" in html
    assert "Left of the budget: rho 50" in html
    with pytest.raises(DaleniusError) as caught:
        curator.mean("incom", by="sex", rho=1)
    assert caught.value._render_traceback_() == [f"UnknownName [unknown_name]: {caught.value.message}"]
