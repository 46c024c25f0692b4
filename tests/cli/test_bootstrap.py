"""Bootstrap errors as a newcomer asks for them: plan, release, show, infer and the ledger."""

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from dalenius.cli.main import app

RUNNER = CliRunner()
PAY = np.random.default_rng(5).integers(10, 91, 400)
DATASET = """
[dataset]
name = "staff"
population = "staff"
source = "staff.csv"
size = 400
[unit]
relation = "replace"
[variables.pay]
bounds = [0, 100]
step = 1
missing = 0
"""
REQUEST = """
dataset = "dataset.toml"
[table]
measure = "mean"
of = "pay"
error = "bootstrap"
replicates = 25
[privacy]
definition = "approximate"
epsilon = 8
delta = "1/1000000"
"""


def invoke(*arguments: object) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_mean_with_bootstrap_errors_is_planned_released_shown_and_tested(tmp_path: Path) -> None:
    """Noise is not recorded here: what is asserted of a value holds but for a chance below 1e-9."""
    (tmp_path / "staff.csv").write_text("pay\n" + "\n".join(map(str, PAY)) + "\n")
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "policy.toml").write_text('population = "staff"\n[budget]\nrho = 9\ndelta = 1e-5\n')
    request = tmp_path / "request.toml"
    request.write_text(REQUEST)
    ledger = tmp_path / "ledger.sqlite"
    plan = json.loads(invoke("plan", request, "--json"))
    advice = [warning for warning in plan["warnings"] if "bootstrap interval" in warning]
    assert advice and "±" in advice[0]
    assert float(plan["cost"]["delta"]) <= 1e-6 and plan["cost"].get("epsilon") is None
    words = " ".join(invoke("plan", request).split())
    assert "With sampling" in words and "Expect the bootstrap interval to reach" in words
    invoke("register", tmp_path / "dataset.toml", "--ledger", ledger, "--policy", tmp_path / "policy.toml")
    first = json.loads(invoke("release", request, "--ledger", ledger, "-o", tmp_path / "out", "--json"))
    assert json.loads(invoke("release", request, "--ledger", ledger, "--json")) == first
    shown = json.loads(invoke("show", tmp_path / "out", "--json"))
    assert shown == first and "Mean" in invoke("show", tmp_path / "out")
    (table,) = shown["tables"]
    # A hundred standard deviations of the noise.
    assert abs(table["values"][0] - PAY.mean()) < 20
    interval = json.loads(invoke("infer", "interval", tmp_path / "out", "--kind", "parameter", "--json"))
    skew = ("--kind", "parameter", "--method", "deconvolution")
    assert "calibrated" in json.dumps(interval)
    assert "without their noise" in invoke("infer", "interval", tmp_path / "out", *skew)
    far = json.loads(invoke("infer", "stated-value", tmp_path / "out", "--value", "5000", "--json"))
    assert far["p_value"] <= 1e-6
    book = json.loads(invoke("ledger", "show", "--ledger", ledger, "--json"))
    assert plan["cost"]["rho"] in json.dumps(book["lines"])
