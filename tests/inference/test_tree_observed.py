"""Sums and differences of places from a release along a hierarchy: exact errors, from the document alone, of any size."""

import numpy as np
import pytest
from verify import _spines as spines

from dalenius.algebra.tree_law import TreeLaw
from dalenius.core.law import Joint
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference.contrast import difference, total
from dalenius.inference.quotient import proportion, ratio
from dalenius.inference.tree_observed import observe_along


@pytest.fixture(scope="module")
def release() -> Release:
    """400 blocks: the largest table has 3,200 cells."""
    return spines.made_release(spines.domain(400))


def test_a_union_of_blocks_has_the_variance_that_the_law_states(release: Release) -> None:
    blocks = [f"block {k}" for k in range(0, 400, 7)]
    found = total(release, {"block": blocks, "sex": "sex 1"})
    assert isinstance(release.law, Joint)
    table = release.tables[-1].values.reshape(2, 400, 4)
    assert found.value == pytest.approx(table[1, ::7].sum())
    weights = np.zeros((2, 400, 4))
    weights[1, ::7] = 1
    cells = np.flatnonzero(weights)
    within = TreeLaw.of(release.law).covariance(5, cells.tolist(), 5, cells.tolist())
    assert found.std_error**2 == pytest.approx(within.sum(), rel=1e-9)


def test_a_union_and_its_complement_add_up_to_the_total(release: Release) -> None:
    inside, outside = ([f"block {k}" for k in range(400) if (k % 3 == 0) is keep] for keep in (True, False))
    parts = [total(release, {"block": places}) for places in (inside, outside)]
    assert sum(p.value for p in parts) == pytest.approx(total(release, {}).value, abs=1e-7)


def test_a_difference_of_places_counts_common_cells_once(release: Release) -> None:
    first, second = {"block.tract": ["tract 3", "tract 4"]}, {"block.tract": ["tract 4", "tract 5"]}
    apart = {"block.tract": ["tract 3"]}, {"block.tract": ["tract 5"]}
    assert difference(release, first, second).std_error == pytest.approx(difference(release, *apart).std_error)


def test_axes_that_no_table_shows_together_are_refused_with_those_that_are(release: Release) -> None:
    with pytest.raises(Unsupported, match="No shown table"):
        total(release, {"block.county": "county 1", "age": "age 1"})


def test_shares_and_ratios_of_places_use_the_same_covariances(release: Release) -> None:
    where: dict[str, str] = {"block.tract": "tract 0"}
    share = proportion(release, where | {"sex": "sex 0", "age": "age 0"}, where)
    quotient = ratio(release, where | {"sex": "sex 0"}, where | {"sex": "sex 1"})
    assert share.interval is not None
    assert 0 <= share.interval.lower <= share.value <= share.interval.upper <= 1
    assert quotient.interval is not None
    assert isinstance(release.law, Joint)
    law = TreeLaw.of(release.law)
    first, second = np.zeros(release.tables[3].values.size), np.zeros(release.tables[3].values.size)
    first.reshape(2, -1, 4)[0, 0], second.reshape(2, -1, 4)[1, 0] = 1, 1
    covariance = observe_along(release, ["block.tract", "sex", "age"]).spread(np.stack([first, second]))
    within = law.covariance(3, np.flatnonzero(first).tolist(), 3, np.flatnonzero(second).tolist())
    assert covariance[0, 1] == pytest.approx(within.sum(), abs=1e-8)
