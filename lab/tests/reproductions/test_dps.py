"""The estimator of Dwork & Smith's Figure 1: its exact moments beside a simulation, and its claims."""

import re
from pathlib import Path

import numpy as np
import pytest

from dalenius_lab.reproductions import dps, items

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "reproductions.md"
# Every numbered table and figure of the papers.
PRINTED = {
    *(f"ft.table{n}" for n in range(1, 4)),
    *(f"ft.figure{n}" for n in range(1, 5)),
    *(f"bdp.table{n}" for n in range(1, 5)),
    *(f"bdp.figure{n}" for n in range(1, 4)),
    *(f"idp.{kind}{n}" for kind in ("table", "figure") for n in (1, 2)),
    "dps.figure1",
    *(f"bi.figure{n}" for n in range(1, 10)),
}


def test_every_numbered_table_and_figure_has_an_item_and_stands_on_the_page() -> None:
    names = set(items.items())
    assert names >= PRINTED
    listed = set(re.findall(r"`([a-z]+\.[a-z0-9_]+)`", PAGE.read_text(encoding="utf-8")))
    assert PRINTED <= listed <= names


def test_the_claims_of_the_figure_hold() -> None:
    rows = {row.name: row for row in items.run("dps.figure1")}
    assert {row.verdict for row in rows.values()} == {"equal", "misprint", "not printed"}
    assert sum(row.verdict == "equal" for row in rows.values()) == 2


def test_moments_of_a_cut_block_are_those_of_a_simulation() -> None:
    """The seed is fixed; 200,000 blocks of five, of which some three in a hundred are cut."""
    sums = np.random.default_rng(7).gamma(5, 1 / dps.RATE, 200_000)
    blocks = np.clip(4 / sums, dps.LOW, dps.HIGH)
    mean, variance = dps.cut_moments(5)
    assert blocks.mean() == pytest.approx(mean, abs=4 * float(blocks.std()) / 200_000**0.5)
    assert blocks.var() == pytest.approx(variance, rel=0.02)


def test_an_average_over_fewer_blocks_than_the_noise_is_for_is_found() -> None:
    assert dps.largest_change(blocks=2) > dps.largest_change(blocks=3)
