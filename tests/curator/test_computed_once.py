"""What a release needs more than once it computes once: canonical form, dataset document, calibrated distribution."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dalenius
from dalenius import Curator, batch, table
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness

ROOT = str(Path(dalenius.__file__).parent)
DATASET = {
    "dataset": {"name": "toy", "population": "toy", "public": True},
    "design": {"draws": "independent"},
    "variables": {"sex": {"categories": ["m", "f"]}, "age": {"bounds": [0, 99], "step": 1, "missing": 0}},
}
ROWS = {"sex": ["m", "f"] * 50, "age": list(range(100))}


def called(curator: Curator, request: Any) -> Counter[str]:
    """How often each function of the library is called by a release, by its module and name."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            calls[f"{code.co_filename[len(ROOT) + 1 :]}:{code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        curator.release(request)
    finally:
        sys.setprofile(before)
    return calls


@pytest.fixture
def curator(tmp_path: Path) -> Any:
    policy = {"budget": {"rho": 100}}
    rng = RecordedRandomness(1)
    with Curator.open(DATASET, ledger=tmp_path / "l.sqlite", data=ROWS, rng=rng, policy=policy) as opened:
        opened.register()
        yield opened


@pytest.mark.parametrize(
    "asked",
    [{"rows": "sex"}, {"rows": "sex", "measure": "mean", "of": "age"}, {"measure": "median", "of": "age"}],
    ids=["count", "mean", "median"],
)
def test_a_release_computes_its_form_and_its_universe_once(curator: Curator, asked: dict[str, Any]) -> None:
    calls = called(curator, table(epsilon=1, **asked))
    assert calls["spec/canonical.py:canonical"] == 1
    assert calls["spec/universe.py:universe_of"] == 1
    assert calls["spec/dataset.py:DatasetDocument.domain"] == 0
    assert calls["spec/dataset.py:DatasetDocument.from_dict"] == 0


def test_a_batch_computes_the_form_of_each_table_once(curator: Curator) -> None:
    asked = batch({"rows": "sex"}, {"measure": "mean", "of": "age"}, epsilon=1)
    assert called(curator, asked)["spec/canonical.py:canonical"] == 2


def test_a_distribution_is_calibrated_once(curator: Curator) -> None:
    """Each mechanism that could serve once; the same budget and sensitivity again need no search at all."""
    first = called(curator, table(rows="sex", epsilon="7/23"))
    again = called(curator, table(where={"sex": "m"}, epsilon="7/23"))
    assert 1 <= first["core/calibrate.py:calibrate"] <= len(registry.names("mechanisms"))
    assert again["core/calibrate.py:calibrate"] == 0


@pytest.mark.parametrize("amount", ["epsilon", "rho"])
@pytest.mark.parametrize(
    ("asked", "most"),
    [({"rows": "sex"}, 600), ({"rows": "sex", "measure": "mean", "of": "age"}, 650)],
    ids=["count", "mean with sampling"],
)
def test_a_release_calls_few_functions(curator: Curator, asked: dict[str, Any], most: int, amount: str) -> None:
    """Its calibrations included: nothing else asks for the second amount."""
    called(curator, table(**asked, **{amount: 1}))
    assert len(called(curator, table(**asked, **{amount: f"{most}/321"}))) <= most
