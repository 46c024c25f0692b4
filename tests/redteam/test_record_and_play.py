"""The same noise on two neighbours: the same steps, bytes, stages, log lines, refusals and shapes, for all but selections.

A selection of a quantile draws one integer below a sum of weights that follow the data, so that the number of bytes can tell
the number of records apart to within a factor; `docs/explanation/evidence.md` says so, and a server answers on a tick.
"""

from dataclasses import replace

import pytest

from dalenius.core.neighbours import Scope
from dalenius.testing.attackers import record_and_play

SELECTIONS = {"ExponentialQuantile", "QuantileTable", "LearnedBounds + ClippedTotals"}


@pytest.mark.parametrize("scope", list(Scope), ids=str)
def test_nothing_but_the_numbers_differs_between_neighbours(scope: Scope) -> None:
    kinds = set()
    for kind, one, other in record_and_play.traces(4, 16, scope=scope, pairs=2):
        kinds.add(kind)
        both = [replace(trace, portions=()) if kind in SELECTIONS else trace for trace in (one, other)]
        assert both[0] == both[1], kind
        assert not one.refusal
    assert len(kinds) >= 2
