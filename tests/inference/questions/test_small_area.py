"""The small-area view: without noise it is the table, groups keep their sums, and small noisy cells come nearer to the truth."""

from fractions import Fraction

import numpy as np
import pytest
from tests.inference.questions.conftest import TABLE
from verify._spines import domain, made_release

from dalenius.core.estimate import Kind
from dalenius.core.law import Additive
from dalenius.errors import Unsupported
from dalenius.inference.questions.small_area import MODEL, small_areas
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.testing.inference_kit import NOISE, release_of


def test_without_noise_it_is_the_table(ask, counts) -> None:
    found = ask("small_area", counts)
    assert found.values.tolist() == pytest.approx(TABLE.reshape(-1).tolist(), abs=1e-6)


def test_it_says_that_it_is_a_model_and_groups_keep_their_sums(ask) -> None:
    noisy = release_of(TABLE + np.arange(TABLE.size).reshape(TABLE.shape) % 3, NOISE)
    found = ask("small_area", noisy, within=("A",))
    assert found.kind is Kind.NOISE_AND_MODEL
    assert MODEL in found.notes
    raw = noisy.tables[0].values.reshape(TABLE.shape).sum(axis=(1, 2))
    np.testing.assert_allclose(found.values.reshape(TABLE.shape).sum(axis=(1, 2)), raw)
    with pytest.raises(Unsupported, match="no axis"):
        ask("small_area", noisy, within=("Z",))


def test_small_noisy_cells_come_nearer_and_intervals_hold() -> None:
    """Recorded draws: 400 cells of mean 5 at epsilon .2."""
    generator = np.random.default_rng(5)
    truth = generator.poisson(5, (20, 10, 2))
    success = 1 - np.exp(-1 / 5)
    noise = generator.geometric(success, truth.shape) - generator.geometric(success, truth.shape)
    release = release_of(truth + noise, Additive(DiscreteLaplace(Fraction(1, 5))))
    found = small_areas(release)
    assert ((found.values - truth.ravel()) ** 2).mean() < 0.25 * (noise**2).mean()
    held = (found.lower <= truth.ravel()) & (truth.ravel() <= found.upper)
    assert 0.9 < held.mean() < 0.99


def test_along_a_hierarchy_the_parents_are_the_groups() -> None:
    declared = domain(24)
    release = made_release(declared)
    found = small_areas(release, ("block",))
    blocks = release.find("block").values
    tracts = np.asarray(declared.variable("block").hierarchy("tract").parent)
    np.testing.assert_allclose(np.bincount(tracts, found.values), np.bincount(tracts, blocks), atol=1e-8)
    raw = 1.96 * release.find("block").std_error
    assert (found.upper - found.lower <= 2.2 * raw).all()
