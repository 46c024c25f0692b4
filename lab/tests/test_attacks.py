"""Attacks as regression tests: each succeeds on a broken twin and gains nothing of note on ours. Fixed seeds."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.randomness import RecordedRandomness
from dalenius.exact.keyed import keyed_noise
from dalenius.exact.sampling import sample
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius_lab.attacks.averaging import averaging
from dalenius_lab.attacks.cell_key import CellKeyTable, breach
from dalenius_lab.attacks.differencing import differencing
from dalenius_lab.attacks.dinur_nissim import dinur_nissim
from dalenius_lab.attacks.floating_point import floating_point, textbook_laplace
from dalenius_lab.attacks.tracker import MinimumSize, tracker

TRUNCATED = TruncatedLaplace(Fraction(1), 7)
ONE = DiscreteLaplace(Fraction(1))
PEOPLE = 60


def list_noise(trial: int, cells: list[int]) -> int:
    """Noise of some cells of a stored list, a fresh list for each trial."""
    return int(keyed_noise(ONE, np.array(cells), f"secret {trial:>20}".encode(), {"list": "staff"}).sum())


def test_cell_keys_by_participants_give_bob_away_with_certainty() -> None:
    result = breach("same participants", lambda t, m, d: CellKeyTable.of(PEOPLE, TRUNCATED, t).answer(m, d))
    assert result.succeeded
    assert result.details["differs_if_bob_is_out"] == 0
    assert result.advantage > 0.5
    assert not CellKeyTable.of(3, TRUNCATED, 0).is_private


def test_a_stored_list_does_not_give_bob_away() -> None:
    """Cells: employed before today or since, by salary. Unequal answers occur whether or not Bob is in."""

    def answer(trial: int, members: list[int], description: str) -> float:
        before = len([m for m in members if m != PEOPLE - 1])
        today = len(members) - before
        if "before" in description:
            return before + list_noise(trial, [0])
        return before + today + list_noise(trial, [0, 1])

    result = breach("stored list", answer)
    assert not result.succeeded
    assert result.details["differs_if_bob_is_out"] > 0.4
    # One cell moves by one: the advantage is at most (e - 1) / (e + 1) at epsilon 1, plus three standard errors.
    assert result.advantage <= (np.e - 1) / (np.e + 1) + 0.12


def test_averaging_succeeds_on_description_keys_and_gains_nothing_on_a_list() -> None:
    group = list(range(25))

    def described(trial: int, wording: int) -> float:
        return CellKeyTable.of(PEOPLE, TRUNCATED, trial, by_description=True).answer(group, f"wording {wording}")

    broken = averaging("same participants and description", described, 25)
    assert broken.succeeded
    assert broken.details["truth_found"] > 0.95

    def listed(trial: int, wording: int) -> float:
        """Every wording is a sum of the same canonical cells, whatever their order."""
        cells = list(np.random.default_rng(wording).permutation(5))
        return 25 + list_noise(trial, [int(c) for c in cells])

    safe = averaging("stored list", listed, 25)
    assert not safe.succeeded
    assert safe.advantage == pytest.approx(0, abs=1e-12)


def test_same_participants_keys_resist_averaging_but_not_the_breach() -> None:
    group = list(range(25))
    result = averaging(
        "same participants", lambda t, w: CellKeyTable.of(PEOPLE, TRUNCATED, t).answer(group, f"wording {w}"), 25
    )
    assert result.advantage == 0


def test_differencing() -> None:
    exact = differencing("exact counts", lambda t, is_in: (40.0 + is_in, 40.0))
    assert exact.succeeded

    def noisy(trial: int, is_in: bool) -> tuple[float, float]:
        noise = sample(DiscreteLaplace(Fraction(1, 2)), 2, RecordedRandomness(f"d{trial}"))
        return 40.0 + is_in + noise[0], 40.0 + noise[1]

    ours = differencing("two charged answers, epsilon 1 in all", noisy, epsilon=1.0)
    assert not ours.succeeded
    assert ours.details["right"] < ours.details["bound"] + 0.034
    # A test of the test: noise of a quarter of the claim is caught.
    weak = differencing(
        "noise too small",
        lambda t, is_in: (
            40.0 + is_in + float(sample(DiscreteLaplace(Fraction(4)), 1, RecordedRandomness(f"w{t}"))[0]),
            40.0,
        ),
        epsilon=1.0,
    )
    assert weak.succeeded


def test_tracker() -> None:
    server = MinimumSize(200, 20)
    broken = tracker("minimum group size", lambda _: server.answer)
    assert broken.succeeded
    assert broken.details["answered_directly"] == 0

    def protected(trial: int):
        rng = RecordedRandomness(f"t{trial}")
        return lambda group: float(group.sum()) + float(sample(DiscreteLaplace(Fraction(1, 4)), 1, rng)[0])

    ours = tracker("four charged answers, epsilon 1 in all", protected)
    assert not ours.succeeded
    assert ours.details["found"] < 0.3


def test_reconstruction() -> None:
    rng = RecordedRandomness("reconstruct")
    broken = dinur_nissim("noise of standard deviation 1", lambda n: sample(ONE, n, rng))
    assert broken.succeeded
    each = DiscreteLaplace(Fraction(1, 400))
    ours = dinur_nissim("400 answers, epsilon 1 in all", lambda n: sample(each, n, rng), epsilon=1.0)
    assert not ours.succeeded
    assert ours.details["right"] < 0.6


def test_floating_point() -> None:
    broken = floating_point("textbook Laplace", textbook_laplace)
    assert broken.succeeded
    assert broken.details["proved"] > 0.3
    ours = floating_point(
        "discrete Laplace", lambda count, n: (count + sample(ONE, n, RecordedRandomness(f"f{count}"))).astype(float)
    )
    assert not ours.succeeded
    assert ours.advantage == 0
    assert "gains nothing" in str(ours)
