"""Sections of the papers that state formulas and claims: each beside a sum or an enumeration of ours."""

from math import exp

import pytest

from dalenius_lab.reproductions import items
from dalenius_lab.reproductions.items import Row


def rows_of(name: str) -> dict[str, Row]:
    return {row.name: row for row in items.run(name)}


def test_table_1_is_as_dependent_as_the_paper_says() -> None:
    rows = rows_of("ft.table1")
    assert rows["persons"].ours == 5784
    assert rows["p-value is close to zero"].verdict == "equal"
    assert rows["Cramer's V"].ours == pytest.approx(0.2576, abs=1e-4)


def test_the_truncated_normal_law_has_the_largest_entropy_for_its_variance() -> None:
    rows = rows_of("ft.max_entropy").values()
    assert all(row.verdict in ("equal", "not printed") for row in rows)
    shares = [float(row.ours or 0) for row in rows if "share" in row.name]
    assert all(0.9 < share < 1 for share in shares)


def test_hellinger_noise_is_worse_than_laplace_noise() -> None:
    rows = rows_of("ft.hellinger")
    assert rows["largest change of the utility"].verdict == "equal"
    assert rows["every one below the Laplace probability"].verdict == "equal"
    # "Very small" is true at epsilon 0.5 and not at 1.5; the page says so.
    assert rows["every one below a quarter of the Laplace probability"].verdict == "differs"


def test_expected_losses_are_the_printed_expressions_but_for_a_factor_of_two() -> None:
    rows = rows_of("ft.expected_loss")
    assert len(rows) == 6
    for name, row in rows.items():
        if "not truncated" in name:
            assert row.verdict == "corrected"
            assert float(row.corrected or 0) == pytest.approx(2 * float(row.ours or 0))
        else:
            assert row.verdict in ("equal", "rounding")


def test_a_replaced_row_moves_two_cells_of_a_table() -> None:
    rows = rows_of("bdp.counts")
    assert rows["table of odd and even"].corrected == 2
    assert [row.verdict for row in rows.values()] == ["equal"] * 3 + ["corrected"]


def test_theorem_4_holds_with_one_minus_gamma() -> None:
    for row in rows_of("bdp.accuracy").values():
        assert float(row.corrected or 0) >= 1 - float(row.paper or 0) - 1e-12


def test_sensitivities_of_a_maximum_hold_on_every_small_data_set() -> None:
    assert {row.verdict for row in items.run("idp.maximum")} == {"equal", "not printed"}


def test_the_clamp_has_a_delta_that_no_epsilon_removes() -> None:
    for name, epsilon in (("1", 1.0), ("5", 5.0)):
        delta = rows_of("idp.clamp_delta")[f"delta, epsilon = {name}"].corrected
        assert delta == pytest.approx(exp(-epsilon) / (1 + exp(-epsilon)))
