"""The same noise on two neighbours: the same steps, bytes, stages, log lines, refusals and shapes, for all but selections.

A selection draws integers below sums of weights that follow the data, so that the number of bytes can tell the number of records
apart to within a factor; several quantiles at once draw a byte for each record, and permute-and-flip as many candidates as it
takes. What a selection costs in time is hidden by the tick of a server alone.
"""

from dataclasses import replace

import pytest

from dalenius.core.neighbours import Scope
from dalenius.testing.attackers import record_and_play

SELECTIONS = {
    "ApproximateQuantiles",
    "ExponentialQuantile",
    "ExponentialSelection",
    "LearnedBounds",
    "PermuteAndFlip",
    "QuantileTable",
}


@pytest.mark.parametrize("scope", list(Scope), ids=str)
def test_nothing_but_the_numbers_differs_between_neighbours(scope: Scope) -> None:
    kinds = set()
    # Most requests under a narrow promise are refused, so that more of them are drawn.
    requests = 16 if scope is Scope.EVERYWHERE else 60
    for kind, one, other in record_and_play.traces(4, requests, scope=scope, pairs=2):
        kinds.add(kind)
        both = [
            replace(trace, portions=()) if SELECTIONS & set(kind.split(" + ")) else trace
            for trace in (one, other)
        ]
        assert both[0] == both[1], kind
        assert not one.refusal
    # Counts and totals given the public attributes are one kind of step.
    assert len(kinds) >= (1 if scope is Scope.GIVEN_THE_PUBLIC else 2)
