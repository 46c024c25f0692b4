"""What people see of results in a notebook: two lines, an HTML table with every label escaped, frames and pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalenius
from dalenius import Curator, Release, inference
from dalenius.core.estimate import Estimate
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import ParameterError

HOSTILE = "<script>alert(1)</script>"
ROWS = {"region": ["north", HOSTILE] * 30, "sex": ["f", "f", "m"] * 20, "income": list(range(60))}
DECLARED = {
    "dataset": {"name": "survey", "population": "adults", "title": "A survey", "public": True},
    "variables": {
        "region": {"label": "Region", "categories": ["north", HOSTILE]},
        "sex": {"label": "Sex", "categories": ["f", "m"]},
        "income": {"label": "Income", "bounds": [0, 100], "step": 1, "unit": "euro"},
    },
}
# 40 and 20, each with the noise that the recorded stream gives first.
FROM_THE_RECORD = [39.0, 18.0]
POLICY = {"budget": {"rho": 20, "delta": "1e-6"}}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    place = tmp_path / "ledger.sqlite"
    with Curator.open(
        pd.DataFrame(ROWS), DECLARED, policy=POLICY, ledger=place, rng=RecordedRandomness("notebook")
    ) as opened:
        opened.register()
        yield opened


@pytest.fixture
def release(curator: Curator) -> Release:
    return curator.release(dalenius.table(rows="region", columns="sex", epsilon=1))


def results(curator: Curator, release: Release) -> dict[str, Any]:
    return {
        "plan": curator.plan(dalenius.table(rows="region", epsilon=1)),
        "release": release,
        "table": release.table,
        "intervals": inference.intervals(release),
        "estimate": inference.proportion(release, {"sex": "f"}),
        "test": inference.independence(release, "region", "sex"),
        "model": inference.loglinear(release, "region + sex"),
        "posterior": inference.posterior(release, draws=50, burn_in=10),
        "statement": curator.ledger.reader.statement("adults"),
        "ledger": curator.ledger,
        "curator": curator,
        "request": dalenius.table(rows="region", epsilon=1),
    }


def test_every_result_is_two_lines(curator: Curator, release: Release) -> None:
    for name, result in results(curator, release).items():
        lines = repr(result).split("\n")
        assert len(lines) == 2, name
        assert lines[0].startswith("<") and lines[1].startswith(" ") and lines[1].endswith(">"), name
        assert all(len(line) < 200 for line in lines), name


def test_html_shows_numbers_and_escapes_labels(curator: Curator, release: Release) -> None:
    for name, result in results(curator, release).items():
        if not hasattr(result, "_repr_html_"):
            continue
        page = result._repr_html_()
        assert "<table" in page, name
        assert "<script>" not in page, name
    page = release._repr_html_()
    for value in release.table.values:
        assert f"{value:,.0f}" in page
    assert "Region" in page and release.provenance.guarantee[:40] in page


def test_a_plan_says_its_cost_and_error_before_data_are_read(curator: Curator) -> None:
    plan = curator.plan(dalenius.table(rows="region", epsilon=1))
    assert plan.cost.epsilon == 1
    assert plan.error == 3.0
    assert "± 3" in repr(plan) and "± 3" in plan._repr_html_()
    median = curator.plan(dalenius.table(measure="median", of="income", method="exponential", epsilon=1))
    assert median.error != median.error
    assert "not known before" in median._repr_html_()


def test_what_is_left_is_the_grant_less_the_cost(curator: Curator) -> None:
    request = dalenius.table(rows="region", rho="0.5")
    assert curator.left.rho == 20
    curator.release(request)
    assert curator.left.rho == 20 - curator.plan(request).cost.rho < 20
    assert curator.ledger.left == {"adults": curator.left}


def test_frames_of_both_kinds_hold_the_same_cells(release: Release) -> None:
    one, other = release.to_frame(), release.to_polars()
    assert isinstance(one, pd.DataFrame) and isinstance(other, pl.DataFrame)
    assert list(one.columns) == other.columns
    assert one["value"].tolist() == other["value"].to_list() == release.table.values.tolist()
    assert one["upper"].tolist() == other["upper"].to_list() == release.interval()[1].ravel().tolist()
    cells = inference.intervals(release)
    assert cells.to_frame()["lower"].tolist() == cells.to_polars()["lower"].to_list() == cells.lower.tolist()
    bare = release.margin("sex")
    assert bare.to_frame()["std_error"].tolist() == pytest.approx(bare.std_error.tolist())
    assert bare.to_polars().columns == ["sex", "value", "std_error", "status"]


def test_withheld_errors_are_missing_in_every_frame(curator: Curator) -> None:
    median = curator.release(dalenius.table(rows="sex", measure="median", of="income", method="exponential", epsilon=5))
    assert median.to_polars()["lower"].null_count() == 2
    assert median.to_frame()["lower"].isna().all()
    assert "withheld" in repr(median)


def test_everything_that_has_a_shape_draws_itself(curator: Curator, release: Release, tmp_path: Path) -> None:
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    for name, result in results(curator, release).items():
        if not hasattr(result, "plot"):
            assert name in ("plan", "statement", "ledger", "curator", "request")
            continue
        assert isinstance(result.plot(), Axes)
        pyplot.close("all")
        result.plot(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        assert not pyplot.get_fignums(), "a picture that is written is closed"


def test_of_many_cells_the_largest_are_drawn_and_the_caption_says_so(tmp_path: Path) -> None:
    labels = [f"c{k}" for k in range(100)]
    rows = pl.DataFrame({"v": [label for k, label in enumerate(labels) for _ in range(k)]})
    declared = {
        "dataset": {"name": "many", "population": "p", "public": True},
        "variables": {"v": {"categories": labels}},
    }
    rng = RecordedRandomness(3)
    with Curator.open(rows, declared, policy=POLICY, ledger=tmp_path / "l.sqlite", rng=rng) as curator:
        curator.register()
        drawn = curator.release(dalenius.table(rows="v", epsilon=1)).plot()
    assert "60 largest of 100" in drawn.get_xlabel()
    assert len(drawn.get_yticklabels()) == 60
    assert drawn.get_yticklabels()[0].get_text() > "c3"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "rows"])
def test_rows_of_every_kind_are_opened_with_a_declaration(kind: str, tmp_path: Path) -> None:
    rows = {
        "pandas": pd.DataFrame(ROWS),
        "polars": pl.DataFrame(ROWS),
        "arrow": pa.table(ROWS),
        "rows": [dict(zip(ROWS, line, strict=True)) for line in zip(*ROWS.values(), strict=True)],
    }[kind]
    rng = RecordedRandomness("same")
    with Curator.open(rows, DECLARED, policy=POLICY, ledger=tmp_path / "l.sqlite", rng=rng) as curator:
        curator.register()
        released = curator.release(dalenius.table(rows="sex", epsilon=1)).values.tolist()
    assert released == FROM_THE_RECORD


def test_a_frame_alone_is_refused_and_so_are_two(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="need a declaration"):
        Curator.open(pd.DataFrame(ROWS), ledger=tmp_path / "l.sqlite")
    with pytest.raises(ParameterError, match="given twice"):
        Curator.open(pd.DataFrame(ROWS), DECLARED, data=ROWS, ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists()


def test_an_estimate_shows_what_it_assumes() -> None:
    estimate = Estimate(name="share", value=0.5, std_error=0.1, assumptions=("Counts are <b>Poisson</b>.",))
    assert repr(estimate) == "<Estimate: share\n 0.5 ± 0.1>"
    assert "&lt;b&gt;Poisson" in estimate._repr_html_()
