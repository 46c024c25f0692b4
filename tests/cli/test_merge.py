"""Small categories are merged by what was released, and the axis goes into the next request."""

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import UnknownName
from dalenius.publish.to_json import write_json

DATASET = """
[dataset]
name = "towns"
population = "towns"
version = "1"
public = true

[variables.town]
categories = ["Tromsø", "Bergen", "Rome", "Milan"]
hierarchies.country = { Norway = ["Tromsø", "Bergen"], Italy = ["Rome", "Milan"] }

[variables.pay]
bounds = [0, 10]
step = 1
"""
TOWNS = ["Tromsø"] * 3 + ["Bergen"] * 80 + ["Rome"] * 60 + ["Milan"] * 50


def open_towns(folder: Path) -> Curator:
    (folder / "dataset.toml").write_text(DATASET)
    rows = {"town": TOWNS, "pay": [1] * len(TOWNS)}
    policy = {"budget": {"rho": 1000}}
    curator = Curator.open(folder / "dataset.toml", data=rows, rng=RecordedRandomness(3), policy=policy)
    curator.register()
    return curator


def run(folder: Path, *more: str) -> str:
    arguments = ["merge", str(folder / "release.json"), "--dataset", str(folder / "dataset.toml")]
    done = CliRunner().invoke(
        app, [*arguments, "--variable", "town", "--level", "country", *more], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output


def test_the_printed_axis_is_used_by_the_next_request(tmp_path: Path) -> None:
    privacy = {"definition": "pure", "epsilon": 30}
    with open_towns(tmp_path) as curator:
        counts = curator.release({"table": {"rows": ["town"]}, "privacy": privacy})
        (tmp_path / "release.json").write_bytes(write_json(counts))
        text = run(tmp_path)
        axis = tomllib.loads(f"axis = {text}")["axis"]
        assert axis["groups"] == {"Norway": ["Tromsø", "Bergen"], "Rome": ["Rome"], "Milan": ["Milan"]}
        assert json.loads(run(tmp_path, "--json")) == axis
        totals = curator.release({"table": {"rows": [axis], "measure": "total", "of": "pay"}, "privacy": privacy})
        assert totals.table.space.axes[0].labels == ("Norway", "Rome", "Milan")
        assert json.loads(run(tmp_path, "--json", "--minimum", "1"))["groups"]["Bergen"] == ["Bergen"]
        # A release that does not count the categories says so.
        (tmp_path / "release.json").write_bytes(write_json(totals))
        with pytest.raises(UnknownName, match="counts every category"):
            run(tmp_path)
