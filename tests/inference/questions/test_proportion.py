"""The share of a part, known without noise."""

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_the_share_in_a_part_and_in_the_whole(ask, counts) -> None:
    inside = ask("proportion", counts, part={"A": ("a0",), "B": ("b0",)}, whole={"B": ("b0",)})
    assert inside.value == pytest.approx(TABLE[0, 0].sum() / TABLE[:, 0].sum())
    whole = ask("proportion", counts, part={"A": ("a0",)})
    assert whole.value == pytest.approx(TABLE[0].sum() / TABLE.sum())


def test_a_part_outside_the_whole_is_refused(ask, counts) -> None:
    with pytest.raises(ParameterError, match="inside the whole"):
        ask("proportion", counts, part={"A": ("a0",)}, whole={"A": ("a1",)})
