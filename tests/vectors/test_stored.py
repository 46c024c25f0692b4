"""What was published stays: digests, keys, releases and ledgers of earlier versions mean the same, byte for byte."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

STORED = Path(__file__).parent / "stored"
sys.path.insert(0, str(STORED))

from make_stored import answer, meaning, open_case  # noqa: E402
from stored_cases import CASES, DATASETS  # noqa: E402

from dalenius.core.budget import Cost  # noqa: E402
from dalenius.core.randomness import RecordedRandomness  # noqa: E402
from dalenius.curator import rules  # noqa: E402
from dalenius.errors import Unsupported  # noqa: E402
from dalenius.ledger import Ledger  # noqa: E402
from dalenius.ledger.charge import Units  # noqa: E402

RECORD = json.loads((STORED / "record.json").read_text())


# A tighter proof charges these less today; what was published of them stays, and is found for free.
CHEAPER = ("truncated normal", "rule of maximum entropy")


def units(cost: dict[str, Any]) -> tuple[int, int]:
    """What the ledger is charged."""
    charged = Units.of(Cost.from_dict(cost))
    return charged.rho, charged.delta


class NoRandomness(RecordedRandomness):
    """A source that must not be asked: what was released is read, never drawn again."""

    def bytes(self, count: int) -> bytes:
        """Fails the test."""
        raise AssertionError("a stored release was drawn again")


@pytest.fixture
def ledgers(tmp_path: Path) -> Path:
    """A copy of the stored ledgers with the permissions that git does not keep."""
    folder = tmp_path / "ledgers"
    shutil.copytree(STORED / "ledgers", folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def test_every_case_has_a_record() -> None:
    assert set(CASES) == set(RECORD)
    assert {place for place, _, _ in CASES.values()} == set(DATASETS)


# Margins that can lose records are refused anew unless the request says so; what was published of them stays.
LOSING = tuple(name for name in CASES if name.startswith("margins"))


@pytest.mark.parametrize("name", CASES)
def test_digests_keys_and_releases_are_what_they_were(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = CASES[name][1]
    if name in LOSING:
        with open_case(name, tmp_path) as curator, pytest.raises(Unsupported, match="universe"):
            curator.plan(request)
        # The refusal is shown above and is of today; below, what is measured and how it is keyed must be what it was. With
        # the check on, only the stored ledgers may answer these requests: the next test has them answered, for free.
        monkeypatch.setattr(rules, "check_universe", lambda *_: None)
    with open_case(name, tmp_path) as curator:
        curator.register(by="custodian")
        made, was = meaning(curator, request) | answer(curator.release(request)), dict(RECORD[name])
        if name in CHEAPER:
            assert units(made.pop("cost")) < units(was.pop("cost"))
        assert made == was


def test_stored_ledgers_open_verify_and_answer_for_free(ledgers: Path) -> None:
    for name, (place, request, _) in CASES.items():
        with open_case(name, ledgers, NoRandomness) as curator:
            before = len(list(curator.ledger.entries(f"stored-{place}")))
            assert answer(curator.release(request)) == {k: RECORD[name][k] for k in ("release", "cost")}
            assert len(list(curator.ledger.entries(f"stored-{place}"))) == before
    for place in DATASETS:
        with Ledger.open(ledgers / place / "ledger.sqlite") as ledger:
            assert ledger.verify().is_ok
