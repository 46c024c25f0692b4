"""The order of axes is the one that was asked: frames, arrays, intervals, files and plots."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dalenius import Curator, Release, inference, save, table
from dalenius.core.randomness import RecordedRandomness

DATASET = {
    "dataset": {"name": "toy", "population": "toy", "public": True},
    "variables": {
        "region": {"categories": ["a", "b", "c"], "missing": "a", "unseen": "a"},
        "sex": {"categories": ["m", "f"], "missing": "m", "unseen": "m"},
        "age": {"bounds": [0, 99], "step": 1, "missing": 0},
    },
}
COUNTS = {("m", "a"): 10, ("m", "b"): 200, ("m", "c"): 3000, ("f", "a"): 400, ("f", "b"): 50, ("f", "c"): 600}
ROWS = [(sex, region, 50) for (sex, region), count in COUNTS.items() for _ in range(count)]


@pytest.fixture(scope="module", params=["count", "list", "mean", "quantiles"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    data = dict(zip(("sex", "region", "age"), map(list, zip(*ROWS, strict=True)), strict=True))
    further = {
        "list": {"margins": "all"},
        "mean": {"measure": "mean", "of": "age"},
        "quantiles": {"measure": "quantiles", "of": "age", "q": ["1/4", "3/4"]},
    }.get(request.param, {})
    place, noise = tmp_path_factory.mktemp("order") / "l.sqlite", RecordedRandomness(3)
    with Curator.open(DATASET, ledger=place, data=data, rng=noise, policy={"budget": {"rho": 100}}) as curator:
        curator.register()
        return curator.release(table(rows=["sex", "region"], rho=50, **further))


def test_every_product_has_the_order_that_was_asked(release: Release, tmp_path: Path) -> None:
    frame = release.to_frame()
    assert list(frame.columns[:2]) == ["sex", "region"]
    assert list(frame["sex"]) == sorted(frame["sex"], key="mf".index)
    first = frame.groupby(["sex", "region"], sort=False)["value"].first()
    assert list(first.index) == list(COUNTS)
    if release.about.measure == "count":
        assert np.allclose(first, list(COUNTS.values()), atol=3)
    # Arrays, intervals and files agree with the frame, cell by cell.
    assert release.values.shape[:2] == (2, 3)
    assert np.array_equal(release.values.ravel(), frame["value"], equal_nan=True)
    for ends, name in zip(release.interval(0.95), ("lower", "upper"), strict=True):
        assert np.allclose(ends.ravel(), frame[name], equal_nan=True)
    cells = inference.intervals(release).to_frame()
    assert list(cells.columns[:2]) == ["sex", "region"]
    assert np.allclose(cells["value"], frame["value"], equal_nan=True)
    with save(release, tmp_path / "cells.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [name for name in read[0] if name in ("sex", "region")] == ["sex", "region"]
    lines = [line for line in read if line["sex"] and line["region"]][: len(frame)]
    assert [(line["sex"], line["region"]) for line in lines] == list(zip(frame["sex"], frame["region"], strict=True))
    assert np.allclose([float(line["value"]) for line in lines], frame["value"])
    assert next(line.split()[:2] for line in str(release).splitlines() if line[:1] in "mf") == ["m", "a"]


def test_a_plot_has_the_order_that_was_asked(release: Release, tmp_path: Path) -> None:
    labels = [text.get_text() for text in release.plot(tmp_path / "cells.svg").get_yticklabels()]
    cells = dict.fromkeys(" | ".join(label.split(" | ")[:2]) for label in labels)
    assert list(cells) == [" | ".join(cell) for cell in COUNTS]
