"""Standard deviation: the known answer on fixed records, and an interval that is the root of the variance's."""

import numpy as np
import pytest
from tests.methods.pairs import asked


def test_the_answer_is_the_known_one() -> None:
    table = asked({"rows": ["g"], "measure": "standard_deviation", "of": "x"})[0]
    assert table.values == pytest.approx([np.std([0, 1, 2, 9], ddof=1), 2], rel=0.02)
    assert table.measure == "standard_deviation"
