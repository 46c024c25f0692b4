"""What meets the noise moves no further between neighbours than was stated, and half a sensitivity is found: a tenth of `verify.inputs`."""

from fractions import Fraction
from pathlib import Path

import pytest

from dalenius.core.neighbours import Relation
from dalenius.measurements.label_selection import LabelSelection
from dalenius.spec.dataset import DatasetDocument
from dalenius.testing import engine_kit
from dalenius.testing.asking import plan_of
from dalenius_lab import planting
from dalenius_lab.attackers import played_requests
from dalenius_lab.attackers.input_distances import ALLOWED, Distance, NeighbourPlay
from dalenius_lab.attackers.planted import UNDERSTATED, Fault
from dalenius_lab.attackers.played_requests import in_memory

METHODS = ("best", "boxplot", "clipped_total", "count", "median", "ratio", "sample_and_aggregate", "total")


@pytest.mark.parametrize("relation", list(Relation), ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_inputs_move_no_further_than_stated(method: str, relation: Relation, tmp_path: Path) -> None:
    engines = {"duckdb": engine_kit.factories(tmp_path)["duckdb"]}
    # Some ways to measure a method scale their noise by the data, and have no distance; others are drawn until one has.
    for seed in range(5, 9):
        moves = played_requests.attack(seed, method, relation, plans=3, pairs=4, engines=engines)
        assert not moves.broken
        if moves.compared:
            break
    assert moves.compared and max(moves.furthest.values()) <= ALLOWED
    assert {engine for _, engine, _ in moves.corners} == {"memory", "duckdb"}


@pytest.mark.parametrize("relation", list(Relation), ids=str)
@pytest.mark.parametrize("fault", UNDERSTATED, ids=str)
def test_a_sensitivity_of_half_the_true_one_is_found(fault: Fault, relation: Relation) -> None:
    as_it_is = played_requests.attack(5, fault.corner.method, relation, plans=2, pairs=4, keys=fault.corner.keys)
    assert as_it_is.compared and not as_it_is.broken
    with fault.planted():
        moves = played_requests.attack(
            5, fault.corner.method, relation, plans=20, pairs=8, keys=fault.corner.keys, is_ended_by_fault=True
        )
    assert moves.broken, "the planted fault was not found"


def label_distances(relation: Relation) -> list[Distance]:
    """A list of two texts on persons of whom the last leaves, or says the other text."""
    document = {
        "dataset": {"name": "d", "population": "p", "size": 60, "public": True},
        "unit": {"relation": str(relation)},
        "variables": {"text": {"categories": ["other"], "unlisted": True, "unseen": "other"}},
    }
    request = {
        "table": {"rows": ["text"], "measure": "labels"},
        "privacy": {"definition": "approximate", "epsilon": 8, "delta": "1/100"},
    }
    domain = DatasetDocument.from_dict(document).domain()
    plan = plan_of(domain, request, {})
    both = ["a"] * 30 + ["b"] * 30, ["a"] * 30 + ["b"] * 29 + ["a"] * (relation is Relation.REPLACE)
    here, there = (in_memory(domain, {"text": texts}, b"secret") for texts in both)
    return NeighbourPlay(plan, here).distances(there)


@pytest.mark.parametrize("relation", list(Relation), ids=str)
def test_numbers_of_listed_labels_move_as_far_as_stated(relation: Relation) -> None:
    """Texts that many persons have are listed on either side, and their numbers move with one person."""
    [moved] = label_distances(relation)
    assert moved.kind == "LabelSelection" and moved.ratio is not None
    assert 0.9 < moved.ratio <= ALLOWED


def test_half_of_what_numbers_of_labels_move_is_found() -> None:
    fault = planting.Fault("half", LabelSelection, "numbers_sensitivity", planting.stated_as(Fraction(49, 100)))
    with fault.planted():
        [moved] = label_distances(Relation.ADD_REMOVE)
    assert moved.ratio is not None and moved.ratio > 1.5
