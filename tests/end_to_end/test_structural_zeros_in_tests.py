"""A cell that cannot hold anybody has no share and no degree of freedom in tests, of one table and of a list of margins."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app as command
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.inference import loglinear
from dalenius.publish import save

DATASET = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {
        "a": {"categories": ["x", "y"], "missing": "x", "unseen": "x"},
        "b": {"categories": ["u", "v", "w"], "missing": "u", "unseen": "u"},
    },
    "structural_zeros": [{"a": "x", "b": "w"}],
}
POSSIBLE = [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v"), ("y", "w")]


@pytest.mark.parametrize(
    ("margins", "strategy"), [("none", None), ("all", None), ("all", "interior"), ("all", "split")]
)
def test_a_structural_zero_has_no_degree_of_freedom(tmp_path: Path, margins: str, strategy: str | None) -> None:
    counts = np.random.default_rng(1).poisson(200, 5).tolist()
    rows = [cell for cell, times in zip(POSSIBLE, counts, strict=True) for _ in range(times)]
    data = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    table = {"rows": ["a"], "columns": ["b"], "margins": margins}
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=data, rng=RecordedRandomness("zeros")) as curator:
        curator.register()
        by = {} if strategy is None else {"strategy": strategy}
        release = curator.release({"table": table, "privacy": {"definition": "zero_concentrated", "rho": "0.5", **by}})
    path = save(release, tmp_path / "out.json")
    done = CliRunner().invoke(
        command, ["infer", "gof", str(tmp_path / "out.json"), "--axis", "a", "--axis", "b", "--json"]
    )
    assert done.exit_code == 0, (path, done.output)
    found = json.loads(done.output)
    assert found["degrees_of_freedom"] == 4 and found["p_value"] > 0.05
    # Quasi-independence of five cells: one degree of freedom of the two of a full table is lost.
    fitted = loglinear(release, "a + b", "a", "b")
    assert fitted.degrees_of_freedom == 1
    assert fitted.fitted[0, 2] == 0 and fitted.fitted.sum() == pytest.approx(sum(counts), rel=0.05)
