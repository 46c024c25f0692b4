"""Keyed lists: the same noise in every process, another one whenever anything it binds changes."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Level
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.randomness import SystemRandomness
from dalenius.core.release import Value
from dalenius.core.sealed import Sealed
from dalenius.errors import DataChanged, ParameterError
from dalenius.exact.keyed import KeyedRandomness, keyed_noise
from dalenius.measurements.keyed_list import KeyedList
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.testing.toy import toy_domain

SECRET = bytes(range(32))
SIZE = 10_000
SPACE = CellSpace((Axis(variable="x", labels=tuple(map(str, range(SIZE))), codes=tuple(range(SIZE))),))
DOMAIN = toy_domain(unit_id="person", max_rows=2)
LIST = KeyedList("list", TableQuery(space=SPACE), DiscreteLaplace(Fraction(1)), DOMAIN, "f1", "f1", SECRET)
RNG = SystemRandomness()


def test_noise_is_the_same_at_every_call() -> None:
    assert (LIST.draw(RNG) == LIST.draw(RNG)).all()


def test_another_process_draws_the_same() -> None:
    code = (
        "from fractions import Fraction; import numpy as np\n"
        "from dalenius.exact.keyed import keyed_noise\n"
        "from dalenius.mechanisms.discrete_laplace import DiscreteLaplace\n"
        "print(keyed_noise(DiscreteLaplace(Fraction(1)), np.arange(20), bytes(range(32)), {'list': 'a'}).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = keyed_noise(DiscreteLaplace(Fraction(1)), np.arange(20), SECRET, {"list": "a"})
    assert done.stdout.strip() == str(here.tolist())


@pytest.mark.parametrize(
    "changed",
    [
        {"domain": replace(DOMAIN, population="firms")},
        {"domain": toy_domain(unit_id="person", max_rows=3)},
        {"domain": replace(DOMAIN, unit_id="household")},
        {"domain": toy_domain(unit_id="person", max_rows=2, missing="west")},
        {"registered": "f2", "fingerprint": "f2"},
        {"mechanism": DiscreteLaplace(Fraction(11, 10))},
        {"secret": bytes(32)},
        {"query": TableQuery(space=SPACE, where=(Filter(variable="y", codes=(1,)),))},
    ],
)
def test_whatever_is_bound_changes_the_noise(changed: dict[str, object]) -> None:
    other = replace(LIST, **changed)  # type: ignore[arg-type]
    same = (other.draw(RNG)[:4000] == LIST.draw(RNG)[:4000]).mean()
    # Two independent draws agree with probability 0.27 or so; equal streams would agree nearly always.
    assert same < 0.4


def test_noise_has_the_law() -> None:
    """Statistical: mean and variance of 10,000 cells within 4.5 standard errors."""
    noise = LIST.draw(RNG)
    assert abs(noise.mean()) < 4.5 * (1.8413 / SIZE) ** 0.5
    assert noise.var() == pytest.approx(1.8413, abs=4.5 * 4.5 / SIZE**0.5)


def test_a_changed_file_is_refused_and_the_claim_is_computational() -> None:
    with pytest.raises(DataChanged):
        replace(LIST, fingerprint="f2")
    assert LIST.evidence.level is Level.COMPUTATIONAL
    assert LIST.profile(Neighbours()).epsilon == 1
    assert "secret" not in repr(LIST).lower()
    with pytest.raises(ParameterError):
        KeyedRandomness(b"short", {})
    outcome = LIST.run((Sealed(np.full(SIZE, 5)),), LIST.draw(RNG), RNG)
    assert isinstance(outcome, Value)
    assert LIST.block(outcome) is not None
