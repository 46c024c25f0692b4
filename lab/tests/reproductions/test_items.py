"""The registry of reproductions."""

import pytest

from dalenius.errors import UnknownName
from dalenius_lab.reproductions.items import Row, agrees, items, row, run


def test_a_rounded_number_agrees_and_a_wrong_one_does_not() -> None:
    assert row("a", "0.82", 0.81574).verdict == "rounding"
    assert row("a", "0.82", 0.82).verdict == "equal"
    assert row("a", "0.82", 0.84).verdict == "differs"
    assert row("a", "0.5", 0.49, corrected=0.51, verdict="corrected").corrected == 0.51
    assert row("claim", True, False).verdict == "differs"
    assert row("point", None, 1.5).verdict == "not printed"


def test_cut_and_rounded_digits_both_count() -> None:
    assert agrees(".27", 0.276)
    assert agrees(".28", 0.276)
    assert not agrees(".29", 0.276)
    assert agrees("101.7", 101.68)


def test_an_unknown_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="verdict"):
        Row(name="a", paper=1, ours=1, verdict="fine")


def test_an_unknown_item_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName):
        run("ft.tabel2")


def test_every_item_is_named_after_its_paper() -> None:
    assert all("." in name for name in items())
