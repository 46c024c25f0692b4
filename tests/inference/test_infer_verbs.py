"""`dalenius infer …` from a written release document: readable text, valid JSON, figures, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.infer import app
from dalenius.core.law import Withheld
from dalenius.errors import DaleniusError, Unsupported
from dalenius.publish.to_json import write_json

RUNNER = CliRunner()
TABLE = np.array([[[60, 20], [31, 44]], [[25, 33], [12, 70]]])


@pytest.fixture
def folder(tmp_path: Path, laplace, make_release) -> Path:
    (tmp_path / "release.json").write_bytes(write_json(make_release(TABLE, laplace("1"))))
    (tmp_path / "again.json").write_bytes(write_json(make_release(TABLE + 1, laplace("1"))))
    return tmp_path


def invoke(*arguments: object) -> str:
    done = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_independence(folder: Path) -> None:
    text = invoke("independence", folder, "-a", "A", "-a", "C", "--replicates", 99)
    assert "Independence of A and C" in text and "speaks against" in text
    found = json.loads(invoke("independence", folder, "-a", "A", "-a", "B", "--replicates", 99, "--json"))
    assert 0 < found["p_value"] <= 1 and found["degrees_of_freedom"] == 1
    both = json.loads(invoke("independence", folder, "--also", folder / "again.json", "--replicates", 19, "--json"))
    assert both["p_value"] == pytest.approx(0.05)


def test_p_values_at_the_limit_of_a_simulation_are_bounds(folder: Path) -> None:
    text = invoke("independence", folder, "-a", "A", "-a", "C", "--replicates", 99)
    assert "p-value ≤ 0.01 (no simulated measurement was as extreme)" in text
    found = json.loads(invoke("independence", folder, "-a", "A", "-a", "C", "--replicates", 99, "--json"))
    assert found["p_value"] == pytest.approx(0.01) and found["is_at_limit"] is True
    other = json.loads(invoke("gof", folder, "-a", "B", "-p", 138, "-p", 157, "--replicates", 99, "--json"))
    assert other["is_at_limit"] is False


def test_a_released_zero_stays_zero_in_every_interval(tmp_path: Path, laplace, make_release) -> None:
    released = np.array([[0, 3, 0], [-2, 0, 17]])
    for epsilon in ("0.03", "0.1", "0.7", "1"):
        (tmp_path / "release.json").write_bytes(write_json(make_release(released, laplace(epsilon), "AB")))
        for axes, expected in (((), released.ravel()), (("-a", "A"), released.sum(1))):
            for kind in ("population", "parameter"):
                found = json.loads(invoke("interval", tmp_path, *axes, "--kind", kind, "--json"))
                assert [cell["value"] for cell in found["cells"]] == expected.tolist()
                assert "e-1" not in invoke("interval", tmp_path, *axes, "--kind", kind)


def test_interval(folder: Path) -> None:
    text = invoke("interval", folder)
    assert "privacy noise only" in text and "a0 | b0 | c0" in text
    assert "method: quantiles of the published noise law" in text
    assert "99.99% intervals" in invoke("interval", folder, "--confidence", 0.9999)
    both = json.loads(invoke("interval", folder, "--also", folder / "again.json", "--json"))
    alone = json.loads(invoke("interval", folder, "--json"))
    widths = [[c["upper"] - c["lower"] for c in found["cells"]] for found in (both, alone)]
    assert all(b < a for b, a in zip(*widths, strict=True)) and "2 releases" in both["method"]
    found = json.loads(invoke("interval", folder, "-a", "A", "--kind", "parameter", "--method", "mid-p", "--json"))
    assert len(found["cells"]) == 2 and "mid-p" in found["method"]
    together = json.loads(invoke("interval", folder, "--simultaneous", "--json"))
    assert together["is_simultaneous"]


def test_structural_zeros_have_no_interval(folder: Path, laplace, make_release) -> None:
    zeros = frozenset({(0, 1)})
    (folder / "zero.json").write_bytes(write_json(make_release([[30, 0], [12, 25]], laplace("1"), zeros=zeros)))
    text = invoke("interval", folder / "zero.json")
    assert text.count("structural zero") == 1
    found = json.loads(invoke("interval", folder / "zero.json", "--json"))
    assert found["structural_zeros"] == [1] and found["cells"][1]["upper"] == 0


def test_models(folder: Path, tmp_path: Path) -> None:
    text = invoke("loglinear", folder, "(A+B+C)^2", "--plot", tmp_path / "fit.png")
    assert "A[a1]:C[c1]" in text and (tmp_path / "fit.png").exists()
    fit = json.loads(invoke("loglinear", folder, "A*B + C", "--json"))
    assert len(fit["coefficients"]) == 5 and len(fit["fitted"]) == 8
    assert json.loads(invoke("compare", folder, "A*B + C", "--replicates", 99, "--json"))["p_value"] < 0.05
    larger = json.loads(invoke("compare", folder, "A*B + A*C", "(A+B+C)^2", "--replicates", 99, "--json"))
    assert larger["degrees_of_freedom"] == 1
    ratio = json.loads(invoke("odds-ratio", folder, "-a", "A", "-a", "C", "--json"))
    assert ratio["interval"]["lower"] < ratio["value"] < ratio["interval"]["upper"]


def test_a_saturated_model_says_so(folder: Path) -> None:
    text = invoke("loglinear", folder, "A*B", "-a", "A", "-a", "B")
    assert "saturated" in text and "deviance" not in text and "not safe" not in text


def test_a_method_that_is_refused_is_not_offered(folder: Path) -> None:
    with pytest.raises(DaleniusError, match="one of monte-carlo, asymptotic; received 'chi-square'"):
        RUNNER.invoke(app, ["compare", str(folder), "A+B", "--method", "chi-square"], catch_exceptions=False)


def test_goodness_of_fit_and_binomial(folder: Path, tmp_path: Path) -> None:
    equal = json.loads(invoke("gof", folder, "-a", "B", "--replicates", 99, "--json", "--plot", tmp_path / "gof.png"))
    assert equal["degrees_of_freedom"] == 1 and (tmp_path / "gof.png").exists()
    given = invoke("gof", folder, "-a", "B", "-p", 138, "-p", 157, "--replicates", 99)
    assert "does not contradict" in given
    labels = ["--label", "A=a0", "--label", "B=b0", "--label", "C=c0"]
    tested = json.loads(invoke("binomial", folder, "--size", 100, *labels, "--json"))
    assert tested["details"]["value"] == 60


def test_infinite_ends_are_valid_json(folder: Path, laplace, make_release) -> None:
    (folder / "edge.json").write_bytes(write_json(make_release([[30, 0], [12, 25]], laplace("0.5"))))
    found = json.loads(invoke("odds-ratio", folder / "edge.json", "--json"), parse_constant=pytest.fail)
    assert found["interval"]["upper"] == "inf"


def test_refusals(folder: Path, make_release) -> None:
    (folder / "withheld.json").write_bytes(write_json(make_release([[1, 2], [3, 4]], Withheld("depends on data"))))
    with pytest.raises(Unsupported, match="withheld"):
        RUNNER.invoke(app, ["independence", str(folder / "withheld.json")], catch_exceptions=False)
    for arguments in (
        ["loglinear", str(folder), "A +"],
        ["binomial", str(folder), "--size", "9", "--label", "A"],
        ["interval", str(folder), "--plot", str(folder / "figure.xyz")],
    ):
        with pytest.raises(DaleniusError):
            RUNNER.invoke(app, arguments, catch_exceptions=False)
