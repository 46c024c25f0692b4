"""Ratio: the known answer on fixed records, and what is refused."""

from typing import Any

import pytest
from tests.methods.pairs import asked

from dalenius.errors import DaleniusError

TABLE = {"rows": ["g"], "measure": "ratio", "of": "x", "other": "y"}


def test_the_answer_is_the_known_one() -> None:
    table = asked(TABLE)[0]
    assert table.values == pytest.approx([3 / 5, 12 / 7], rel=0.02)
    thousand = asked(TABLE | {"per": 1000, "error": "noise"})[0]
    assert thousand.values == pytest.approx([600, 12_000 / 7], rel=0.02)
    assert thousand.sampled is None


@pytest.mark.parametrize("wrong", [{"other": "x"}, {"other": "nothing"}, {"of": "y", "other": "z"}, {"per": -1}])
def test_what_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        asked(TABLE | wrong)


def test_a_second_variable_must_be_named() -> None:
    with pytest.raises(DaleniusError, match="other"):
        asked({"measure": "ratio", "of": "x"})
