"""Brawner & Honaker: what is printed, what holds, and what our own interval does."""

from functools import cache

import pytest

from dalenius_lab.reproductions.items import Row, items, run


@cache
def rows_of(name: str) -> dict[str, Row]:
    return {row.name: row for row in run(name)}


def test_every_figure_is_there() -> None:
    names = {f"bi.figure{n}" for n in range(1, 10)} | {"bi.inflation", "bi.coverage", "bi.differencing"}
    assert names <= set(items())


def test_the_price_is_not_what_is_claimed() -> None:
    rows = rows_of("bi.inflation")
    for replicates, epsilon in ((1, 34.00), (10, 6.553), (50, 5.169), (500, 4.914)):
        found = rows[f"epsilon of {replicates} replicates, multinomial, replace"]
        assert found.verdict == "corrected" and found.corrected == pytest.approx(epsilon, rel=0.005)


def test_the_published_intervals_cover_too_little_or_too_much_and_ours_as_it_says() -> None:
    rows = {name: float(row.ours or 0) for name, row in rows_of("bi.coverage").items()}
    assert 0.85 <= rows["unbiased"] <= 0.89
    assert 0.96 <= rows["conservative"] <= 0.98
    assert rows["most_conservative"] >= 0.995
    assert 0.94 <= rows["calibrated"] <= 0.97


def test_figures_with_printed_numbers_agree_or_are_explained() -> None:
    assert {row.verdict for row in rows_of("bi.figure4").values()} == {"equal", "rounding", "not printed"}
    assert all(row.verdict == "within Monte-Carlo error" for row in rows_of("bi.figure3").values())
    assert rows_of("bi.figure9")["unbiased covers"].verdict == "differs"
    assert rows_of("bi.figure8")["variance over that of one answer"].corrected == pytest.approx(1.484)


def test_naive_constructions_cost_more_than_is_claimed_and_ours_does_not() -> None:
    rows = rows_of("bi.naive")
    assert rows["6.2, secrecy of the sample"].corrected == 25
    assert rows["6.3, partition, multinomial"].corrected == pytest.approx(1.105, abs=0.005)
    assert rows["ours, Poisson about the midpoint, replace"].ours == pytest.approx(0.996, abs=0.003)


def test_two_exact_means_give_a_score_away() -> None:
    assert rows_of("bi.differencing")["Alice's score from two exact means"].verdict == "equal"


@pytest.mark.parametrize("name", ["bi.figure1", "bi.figure2", "bi.figure5", "bi.figure6", "bi.figure7"])
def test_other_figures_have_their_rows(name: str) -> None:
    assert len(rows_of(name)) >= 3
