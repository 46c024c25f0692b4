"""From microdata to a published release: library and command line, memo, crash, refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli.main import app
from dalenius.core.randomness import RecordedRandomness, SystemRandomness
from dalenius.core.release import Release
from dalenius.curator import curator as curator_module
from dalenius.curator.curator import Curator
from dalenius.errors import BudgetExhausted, DaleniusError, DataChanged, NotRegistered
from dalenius.publish import to_document
from dalenius.publish.to_json import write_json

EXACT = {"junior": (17, 16), "senior": (0, 0), "chief": (0, 0)}


def registered(office: Path, ledger: str = "ledger.sqlite", **options: object) -> Curator:
    opened = Curator.open(office / "dataset.toml", ledger=office / ledger, **options)  # type: ignore[arg-type]
    opened.register(by="custodian")
    return opened


def measured(release: Release) -> list[list[int]]:
    return [block.values.tolist() for block in release.blocks]


def test_plan_reads_no_data(office: Path) -> None:
    (office / "staff.csv").unlink()
    with Curator.open(office / "dataset.toml", ledger=office / "ledger.sqlite") as curator:
        plan = curator.plan(office / "request.toml")
    assert plan.preview["cells"] == 6
    assert plan.reservation.epsilon == 1
    assert plan.mechanism == "discrete_laplace"


def test_release_needs_registration(office: Path) -> None:
    with Curator.open(office / "dataset.toml", ledger=office / "l.sqlite") as curator, pytest.raises(NotRegistered):
        curator.release(office / "request.toml")


def test_values_are_exact_plus_the_recorded_noise(office: Path) -> None:
    """The release is the exact table plus the sampler's own draws: nothing else touches a value."""
    from dalenius.core.law import Additive
    from dalenius.exact.sampling import sample

    with registered(office, rng=RecordedRandomness(7)) as curator:
        release = curator.release(office / "request.toml")
        exact = list(curator.inspection.table(office / "request.toml").reveal().values())
    law = release.blocks[0].law
    assert isinstance(law, Additive)
    noise = sample(law.noise, 6, RecordedRandomness(7))
    assert release.blocks[0].values.tolist() == (np.array(exact) + noise).tolist()
    assert release.provenance.is_tainted


def test_library_and_command_line_give_the_same_release(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with registered(office, "one.sqlite", rng=RecordedRandomness(3)) as curator:
        by_library = curator.release(office / "request.toml")
    monkeypatch.setattr(curator_module, "SystemRandomness", lambda: RecordedRandomness(3))
    runner = CliRunner()
    ledger = str(office / "two.sqlite")
    done = runner.invoke(app, ["register", str(office / "dataset.toml"), "--ledger", ledger])
    assert done.exit_code == 0, done.output
    done = runner.invoke(app, ["release", str(office / "request.toml"), "--ledger", ledger, "-o", str(office / "out")])
    assert done.exit_code == 0, done.output
    by_command = dalenius.load(office / "out")
    assert measured(by_command) == measured(by_library)
    ours, theirs = to_document(by_library), to_document(by_command)
    for document in (ours, theirs):
        for key in ("ledger_entry", "ledger_head"):
            document["provenance"].pop(key)
    assert ours == theirs
    table = (office / "out" / "table.csv").read_text().splitlines()
    assert table[0] == "grade,branch,value,std_error,lower,upper,status"
    assert len(table) == 7


def test_repeating_is_free_and_returns_the_same_bytes(office: Path) -> None:
    with registered(office) as curator:
        first = curator.release(office / "request.toml")
        spent = curator.ledger.reader.account("staff-of-one-office").spent
        again = curator.release(office / "request.toml")
        assert curator.ledger.reader.account("staff-of-one-office").spent == spent
    assert write_json(first) == write_json(again)
    with Curator.open(office / "dataset.toml", ledger=office / "ledger.sqlite") as later:
        assert write_json(later.release(office / "request.toml")) == write_json(first)


def test_what_was_published_is_answered_without_the_file(office: Path) -> None:
    with registered(office) as curator:
        first = curator.release(office / "request.toml")
        file = office / curator.document.dataset.source
    content = file.read_bytes()
    for change in (lambda: file.write_bytes(content[: len(content) // 2]), file.unlink):
        change()
        with Curator.open(office / "dataset.toml", ledger=office / "ledger.sqlite") as later:
            assert write_json(later.release(office / "request.toml")) == write_json(first)
            with pytest.raises(DaleniusError):
                later.release({"table": {"rows": ["grade"]}, "privacy": {"definition": "pure", "epsilon": "0.01"}})
            assert len(later.ledger.reader.releases()) == 1
            assert later.ledger.reader.account(later.domain.population).charges == 1


def test_an_equivalent_spelling_is_the_same_request(office: Path) -> None:
    other = {
        "dataset": "dataset.toml",
        "table": {"columns": ["branch"], "rows": ["grade"], "where": {"gender": "female"}},
        "privacy": {"epsilon": "1.0", "definition": "pure"},
    }
    with registered(office) as curator:
        first = curator.release(office / "request.toml")
        assert write_json(curator.release(other)) == write_json(first)
        # What the planner chose by itself may be named.
        named = {"mechanism": first.provenance.mechanism}
        assert write_json(curator.release(other | {"privacy": other["privacy"] | named})) == write_json(first)
        assert len(curator.ledger.reader.releases()) == 1
        another = other | {"privacy": other["privacy"] | {"mechanism": "staircase"}}
        assert curator.release(another).provenance.ledger_entry != first.provenance.ledger_entry


CRASH = """
import os, sys
from pathlib import Path
from dalenius.curator import curator as module, gate
from dalenius.curator.curator import Curator
office = Path(sys.argv[1])
def die(*arguments, **options):
    os._exit(9)
if sys.argv[2] == "before":
    gate.run = die
else:
    module.Ledger.commit = die
with Curator.open(office / "dataset.toml", ledger=office / "ledger.sqlite") as curator:
    curator.release(office / "request.toml")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_between_charge_and_release_wastes_the_charge_and_releases_nothing(office: Path, moment: str) -> None:
    with registered(office) as curator:
        assert curator.ledger.reader.account("staff-of-one-office").spent.rho == 0
    done = subprocess.run([sys.executable, "-c", CRASH, str(office), moment], check=False, env=dict(os.environ))
    assert done.returncode == 9
    with Curator.open(office / "dataset.toml", ledger=office / "ledger.sqlite") as curator:
        account = curator.ledger.reader.account("staff-of-one-office")
        assert account.spent.rho > 0
        assert list(curator.ledger.reader.releases()) == []


def test_the_budget_holds(office: Path) -> None:
    policy = {"budget": {"rho": "1", "delta": "1e-6"}}
    with registered(office, policy=policy) as curator:
        curator.release(office / "request.toml")
        request = {
            "dataset": "dataset.toml",
            "table": {"rows": ["branch"]},
            "privacy": {"definition": "pure", "epsilon": 3},
        }
        with pytest.raises(BudgetExhausted) as refused:
            curator.release(request)
        assert refused.value.code == "budget_exhausted"


def test_a_changed_file_is_refused(office: Path) -> None:
    with registered(office) as curator:
        with (office / "staff.csv").open("a") as file:
            file.write("junior,north,female\n")
        with pytest.raises(DataChanged) as refused:
            curator.release(office / "request.toml")
    assert "201" not in str(refused.value)


def test_real_randomness_is_not_tainted_and_differs(office: Path) -> None:
    """Two ledgers, one request at a small epsilon: equal noise in all six cells has probability below 1e-9."""
    request = {
        "dataset": "dataset.toml",
        "table": {"rows": ["grade"], "columns": ["branch"]},
        "privacy": {"definition": "pure", "epsilon": "0.01"},
    }
    with registered(office, "a.sqlite") as one, registered(office, "b.sqlite") as two:
        assert isinstance(one._rng, SystemRandomness)
        first, second = one.release(request), two.release(request)
    assert not first.provenance.is_tainted
    assert measured(first) != measured(second)


BAD_REQUESTS = [
    ({"privacy": {"definition": "pure", "epsilon": 0}}, "bad_parameter"),
    ({"privacy": {"definition": "pure", "epsilon": -1}}, "bad_parameter"),
    ({"privacy": {"definition": "pure", "epsilon": 1e9}}, "bad_parameter"),
    ({"privacy": {"definition": "pure", "epsilon": float("nan")}}, "bad_document"),
    ({"privacy": {"definition": "pure", "epsilon": float("inf")}}, "bad_document"),
    ({"privacy": {"definition": "pure", "epsilon": True}}, "bad_document"),
    ({"privacy": {"definition": "approximate", "epsilon": 1, "delta": 2}}, "bad_parameter"),
    ({"privacy": {"definition": "pur", "epsilon": 1}}, "unknown_name"),
    ({"privacy": {"definition": "pure", "epsilon": 1, "mechanism": "laplace"}}, "unknown_name"),
    ({"table": {"rows": ["rank"]}}, "unknown_name"),
    ({"table": {"rows": ["grade", "grade"]}}, "bad_parameter"),
    ({"table": {"rows": ["grade"], "where": {"gender": ["femal"]}}}, "unknown_name"),
    ({"table": {"rows": ["grade"], "colums": []}}, "bad_document"),
]


@pytest.mark.parametrize(("change", "code"), BAD_REQUESTS)
def test_bad_requests_are_refused_before_anything_is_spent(office: Path, change: dict[str, object], code: str) -> None:
    request = {
        "dataset": "dataset.toml",
        "table": {"rows": ["grade"]},
        "privacy": {"definition": "pure", "epsilon": 1},
    } | change
    with registered(office) as curator:
        with pytest.raises(DaleniusError) as refused:
            curator.release(request)
        assert refused.value.code == code, refused.value
        assert curator.ledger.reader.account("staff-of-one-office").spent.rho == 0


def test_nothing_about_the_file_is_in_a_release(office: Path) -> None:
    with registered(office) as curator:
        release = curator.release(office / "request.toml")
    text = write_json(release).decode()
    assert "staff.csv" not in text and str(office) not in text
    registration = json.dumps(to_document(release))
    assert "fingerprint" not in registration


def test_command_line_errors_have_codes(office: Path) -> None:
    env = dict(os.environ)
    command = [sys.executable, "-m", "dalenius.cli.main", "plan", str(office / "missing.toml"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 2
    assert json.loads(done.stderr)["error"]["code"] == "bad_document"
