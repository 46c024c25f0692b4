"""Bootstrap paper: every printed number, as published and as corrected."""

from math import log

import numpy as np
import pytest

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.statistics.magnitude_table import Membership
from dalenius_lab.reproductions import bdp, items


def test_the_farms():
    assert len(bdp.farms().value) == 1026
    assert bdp.farms().totals.sum() == 1_273_184


@pytest.mark.parametrize("name", ["bdp.table1", "bdp.table2", "bdp.table3", "bdp.table4"])
def test_every_printed_number(name):
    rows = items.run(name)
    assert len(rows) >= 9
    assert all(r.verdict in ("equal", "rounding", "misprint", "corrected") for r in rows)
    misprints = [r for r in rows if r.verdict == "misprint"]
    assert [(r.name, r.paper, r.ours) for r in misprints] == (
        [("Mixed x High: max", 900.0, 9000)] if name == "bdp.table1" else []
    )


def test_corrected_sensitivities():
    rows = {r.name: r for r in bdp.table2()}
    assert (rows["whole table"].ours, rows["whole table"].corrected) == (17_528, 32_130)
    assert (rows["Mixed x High"].ours, rows["Mixed x High"].corrected) == (8766, 9000)
    assert rows["Share x Both"].corrected == 705


def test_whole_table_by_all_pairs_of_rows():
    """Brute force over the 1,026^2 replacements: the l1 distance of the two contributions."""
    cell, x = bdp.farms().cell, bdp.farms().value
    same = cell[:, None] == cell[None, :]
    distance = np.where(same, np.abs(x[:, None] - x[None, :]), np.abs(x)[:, None] + np.abs(x)[None, :])
    neighbours = Neighbours(relation=Relation.REPLACE)
    table = bdp.magnitude_table()
    assert distance.max() == table.bootstrap(cell, x, neighbours, Membership.PRIVATE) == 32_130
    assert distance[same].max() == table.bootstrap(cell, x, neighbours, Membership.PUBLIC) == 17_528


@pytest.mark.statistical
def test_figures_are_drawn_from_our_mechanisms():
    """Quartiles of 1,000 Laplace replicates lie near log(2) scales from the totals (six standard errors)."""
    totals, scales = bdp.farms().totals, bdp.sensitivities(Membership.PUBLIC)
    rows = {r.name: r for r in bdp.figure1()}
    for i, cell in enumerate(bdp.CELLS):
        error = 6 * scales[i] * (3 / 4 * 1 / 4 / 1000) ** 0.5 / (1 / 4)
        assert abs(rows[f"{cell}: median"].ours - totals[i]) < error
        assert abs(rows[f"{cell}: upper quartile"].ours - totals[i] - log(2) * scales[i]) < error
    assert all(r.verdict == "not printed" for r in rows.values())
    assert {r.name.split()[0] for r in bdp.figure3()} == {"(i)", "(ii)"}


def test_relative_bias_follows_the_totals():
    rows = {r.name: r.ours for r in bdp.figure2()}
    spread = {c: rows[f"{c}: upper quartile"] - rows[f"{c}: lower quartile"] for c in ("Owner x High", "Share x Both")}
    assert spread["Owner x High"] < spread["Share x Both"]


def test_figures_can_be_drawn(tmp_path):
    for name in bdp.PLOTS:
        assert bdp.PLOTS[name](tmp_path, False).stat().st_size > 5000
