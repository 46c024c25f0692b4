"""The same noise on two neighbours: the same steps, bytes, stages, log lines, refusals and shapes, for all but what draws by record.

A selection draws integers below sums of weights that follow the data, so that the number of bytes can tell the number of records
apart to within a factor; several quantiles at once draw a byte for each record, and permute-and-flip as many candidates as it
takes. A secret sample, blocks, a bootstrap and a list of labels draw for each record, or for each distinct value. What these cost in time is hidden by
the tick of a server alone. A test that is not passed shows as no reply, and a label that is not listed is not there; their prices cover that, and these outcomes may differ.
"""

from dataclasses import replace

import pytest

from dalenius.core.neighbours import Scope
from dalenius_lab.attackers import record_and_play

DRAWN_BY_RECORD = {
    "BlockTotals",
    "ExponentialSelection",
    "GridSelection",
    "LabelSelection",
    "PermuteAndFlip",
    "ResampledTotals",
    "SampledCount",
}
# Which groups are counted finely follows the released coarse counts.
FOLLOWS_ITS_ANSWER = {"coarse_then_fine"}
TESTED = {"LabelSelection", "ProposeTestRelease"}


@pytest.mark.parametrize("scope", list(Scope), ids=str)
def test_nothing_but_the_numbers_differs_between_neighbours(scope: Scope) -> None:
    kinds = set()
    # Most requests under a narrow guarantee are refused, so that more of them are drawn.
    requests = 16 if scope is Scope.ALL_DATA else 60
    for kind, one, other in record_and_play.traces(4, requests, scope=scope, pairs=2):
        kinds.add(kind)
        both, steps = [one, other], set(kind.split(" + "))
        if DRAWN_BY_RECORD & steps:
            both = [replace(trace, portions=()) for trace in both]
        if TESTED & steps:
            both = [replace(trace, shown=()) for trace in both]
        if FOLLOWS_ITS_ANSWER & steps:
            both = [replace(trace, portions=(), stages=(), shown=()) for trace in both]
        assert both[0] == both[1], kind
        assert not one.refusal
    # Counts and totals given the public attributes are one kind of step.
    assert len(kinds) >= (1 if scope is Scope.GIVEN_THE_PUBLIC else 2)
