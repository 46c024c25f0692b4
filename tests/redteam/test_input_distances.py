"""What meets the noise moves no further between neighbours than was stated, and half a sensitivity is found: a tenth of `verify.inputs`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from dalenius.core.neighbours import Relation
from dalenius.testing import engine_kit
from dalenius.testing.attackers import played_requests
from dalenius.testing.attackers.input_distances import ALLOWED
from dalenius.testing.attackers.played_requests import UNDERSTATED, Understated

METHODS = (
    "best",
    "boxplot",
    "clipped_total",
    "count",
    "median",
    "ratio",
    "sample_and_aggregate",
    "total",
)


@contextmanager
def planted(fault: Understated) -> Iterator[None]:
    with patch.object(fault.where, "sensitivity", fault.wrong):
        yield


@pytest.mark.parametrize("relation", list(Relation), ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_inputs_move_no_further_than_stated(method: str, relation: Relation, tmp_path: Path) -> None:
    engines = {"duckdb": engine_kit.factories(tmp_path)["duckdb"]}
    moves = played_requests.attack(5, method, relation, plans=2, pairs=5, engines=engines)
    assert not moves.broken
    assert moves.compared and max(moves.furthest.values()) <= ALLOWED
    assert {engine for _, engine, _ in moves.corners} == {"memory", "duckdb"}


@pytest.mark.parametrize("fault", UNDERSTATED, ids=lambda fault: fault.where.__name__)
def test_a_sensitivity_of_half_the_true_one_is_found(fault: Understated) -> None:
    with planted(fault):
        moves = played_requests.attack(
            5, fault.method, Relation.ADD_REMOVE, plans=20, pairs=8, keys=fault.keys, is_ended_by_fault=True
        )
    assert moves.broken, "the planted fault was not found"
