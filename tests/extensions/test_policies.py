"""An installed extension exists where a policy names its distribution and version, and nowhere else."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.building import build, importable, install, write

from dalenius import table
from dalenius.core import registry
from dalenius.core.evidence import Level
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, DocumentError, NotAllowed, ParameterError, RequestError, UnknownName
from dalenius.inference.question import every_question
from dalenius.publish import formats, from_json, save
from dalenius.spec.batch import form_of
from dalenius.spec.load import load_policy
from dalenius.spec.method import Method

ROWS = {"sex": ["f", "m", "f", "m", "f"] * 400}
DATASET: dict[str, Any] = {
    "dataset": {"name": "d", "population": "p", "public": True},
    "variables": {"sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"}},
}
BUDGET = {"rho": 1000, "delta": "0.1"}
NAMED = {"extensions": {"office-statistics": "1.0.0"}}
WEAK = NAMED | {"evidence": ["proved", "enumerated", "computational", "none"]}
THOUSANDS: dict[str, Any] = {
    "table": {"rows": ["sex"], "measure": "thousands"},
    "privacy": {"definition": "pure", "epsilon": 300},
}
COUNT: dict[str, Any] = {"table": {"rows": ["sex"]}, "privacy": {"definition": "pure", "epsilon": 300}}
LAPLACE: dict[str, Any] = {"table": COUNT["table"], "privacy": COUNT["privacy"] | {"mechanism": "office_laplace"}}
# What every refusal of an extension says that a policy does not allow.
INSTALLED = "office-statistics 1.0.0 is installed but not allowed by the policy"


@contextmanager
def opened(folder: Path, allow: dict[str, Any] | None = None, name: str = "d", data: Any = ROWS) -> Iterator[Curator]:
    document = DATASET | {"dataset": DATASET["dataset"] | {"name": name, "population": name}}
    policy = {"budget": BUDGET, "allow": allow or {}}
    with Curator.open(document, data=data, ledger=folder / f"{name}.sqlite", policy=policy) as curator:
        curator.register()
        yield curator


def refusal(curator: Curator, request: dict[str, Any]) -> DaleniusError:
    """What plan and release say; both say the same."""
    refusals = []
    for ask in (curator.plan, curator.release, curator.quote):
        with pytest.raises(DaleniusError) as refused:
            ask(request)
        refusals.append(refused.value.to_dict())
    assert refusals[0] == refusals[1] == refusals[2]
    return refused.value


def test_an_extension_that_the_policy_names_answers_and_is_named(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, NAMED) as curator:
        plan, release = curator.plan(THOUSANDS), curator.release(THOUSANDS)
    named = {"package": "methods", "name": "thousands", "distribution": "office-statistics", "version": "1.0.0"}
    assert release.table.values.tolist() == [1.2, 0.8]
    assert [e.to_dict() for e in plan.extensions] == [named]
    assert release.provenance.extensions == (named,)
    # Its steps, noise and law are the project's own, and so is its evidence.
    assert release.provenance.evidence["level"] == "proved"
    assert "Thousands of records" in str(release)
    document = json.loads(formats()["json"].content(release))
    assert document["provenance"]["extensions"] == [named]
    assert from_json(json.dumps(document)).provenance.extensions == (named,)


def test_a_release_without_extensions_says_nothing_of_them(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, NAMED) as curator:
        release = curator.release(COUNT)
    assert release.provenance.extensions == ()
    assert "extensions" not in json.loads(formats()["json"].content(release))["provenance"]


def test_the_charge_is_that_of_the_same_steps_without_an_extension(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, WEAK) as curator:
        assert curator.plan(THOUSANDS).cost == curator.plan(COUNT).cost == curator.plan(LAPLACE).cost
        before = curator.left.rho
        curator.release(THOUSANDS)
        assert before - curator.left.rho == curator.plan(COUNT).cost.rho > 0


@pytest.mark.parametrize(
    ("allow", "reason"),
    [
        ({}, "[allow.extensions] does not name office-statistics."),
        ({"extensions": {"other": "1.0.0"}}, "[allow.extensions] does not name office-statistics."),
        ({"extensions": {"office-statistics": "1.0.1"}}, "[allow.extensions] names version 1.0.1 of office-stat"),
        ({"extensions": {"office-statistics": "1.0"}}, "[allow.extensions] names version 1.0 of office-stat"),
    ],
)
def test_an_extension_that_is_not_named_is_not_there(
    office: Path, tmp_path: Path, allow: dict[str, Any], reason: str
) -> None:
    with opened(tmp_path, allow) as curator:
        for request in (THOUSANDS, LAPLACE):
            refused = refusal(curator, request)
            assert isinstance(refused, UnknownName)
            assert INSTALLED in refused.message and reason in refused.message
        assert curator.plan(COUNT).extensions == ()
    assert not any(name.startswith("office_statistics") for name in sys.modules)


def test_what_is_not_installed_is_unknown_and_nothing_more(tmp_path: Path) -> None:
    with opened(tmp_path, NAMED) as curator:
        assert "installed" not in refusal(curator, THOUSANDS).message


def test_the_refusal_is_the_same_whatever_other_policies_of_the_process_allow(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, name="strict") as strict:
        before = refusal(strict, THOUSANDS | {"table": THOUSANDS["table"] | {"no_such_key": 1}}).to_dict()
        with opened(tmp_path, WEAK, name="open") as allowing:
            allowing.release(THOUSANDS)
            assert refusal(strict, THOUSANDS | {"table": THOUSANDS["table"] | {"no_such_key": 1}}).to_dict() == before
            # Also of a request that was read where it is allowed.
            assert isinstance(refusal(strict, allowing.asked(THOUSANDS)), UnknownName)  # type: ignore[arg-type]
            assert isinstance(refusal(strict, allowing.asked(LAPLACE)), UnknownName)  # type: ignore[arg-type]
            # The custodian's own look hands no exact value of these data to it.
            for look in (strict.inspection.dominance, strict.inspection.sensitivity):
                with pytest.raises(UnknownName, match=INSTALLED):
                    look(allowing.asked(THOUSANDS))  # type: ignore[arg-type]


def test_a_request_is_written_where_a_policy_of_the_process_allows_its_measure(office: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=INSTALLED):
        table(rows="sex", measure="thousands", epsilon=300)
    with opened(tmp_path, NAMED) as curator:
        assert curator.release(table(rows="sex", measure="thousands", epsilon=300)).tables


def test_what_states_a_price_needs_consent_to_weak_evidence(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, NAMED, name="named") as curator:
        refused = refusal(curator, LAPLACE)
        assert isinstance(refused, UnknownName) and INSTALLED in refused.message
        assert "evidence must hold \"none\", or acknowledge 'office_laplace'" in refused.message
    for number, allow in enumerate((WEAK, NAMED | {"acknowledge": ["office_laplace"]})):
        with opened(tmp_path, allow, name=f"weak{number}") as curator:
            release = curator.release(LAPLACE)
            assert release.provenance.mechanism == "office_laplace"
            # It says of itself that it is proved.
            assert registry.get("mechanisms", "office_laplace").evidence.level is Level.PROVED
            assert release.provenance.evidence["level"] == "none"
            assert [e["name"] for e in release.provenance.extensions] == ["office_laplace"]
            # Its noise is in no event of the ledger, which is read where it is not installed.
            entry = next(e for e in curator.ledger.reader.entries() if e.kind == "charge")
            assert entry.body["events"] == [] and entry.body["cost"]["rho"]
    # Weak evidence alone opens nothing.
    with opened(tmp_path, {"evidence": WEAK["evidence"]}, name="unnamed") as curator:
        assert isinstance(refusal(curator, LAPLACE), UnknownName)


def test_nothing_is_chosen_of_another_distribution_that_no_request_names(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, WEAK) as curator:
        assert registry.get("mechanisms", "office_laplace").is_default
        assert curator.plan(COUNT).mechanism == "discrete_laplace"
        margins = {"table": {"rows": ["sex"], "margins": "all"}, "privacy": COUNT["privacy"]}
        assert curator.plan(margins).extensions == ()


def test_an_engine_of_another_distribution_reads_what_no_other_does(office: Path, tmp_path: Path) -> None:
    place = tmp_path / "rows.columns"
    place.write_text(json.dumps(ROWS))
    with opened(tmp_path, WEAK, data=place) as curator:
        release = curator.release(COUNT)
        batch = curator.release(
            {"table": [{"rows": ["sex"]}, {"rows": []}], "privacy": {"definition": "pure", "epsilon": 300}}
        )
    assert release.table.values.tolist() == [1200, 800]
    for made in (release, batch, *batch.members):
        assert [e["name"] for e in made.provenance.extensions] == ["columns_file"]
        assert made.provenance.evidence["level"] == "none"
    for number, allow in enumerate(({}, NAMED)):
        with pytest.raises(RequestError, match="CSV"), opened(tmp_path, allow, name=f"x{number}", data=place):
            pass
    # What it does not open is opened as ever, and what nothing opens is refused with what is installed.
    with opened(tmp_path, WEAK, name="usual") as curator:
        assert curator.release(COUNT).provenance.extensions == ()
    with pytest.raises(RequestError, match=INSTALLED), opened(tmp_path, name="nothing", data=object()):
        pass


def test_members_of_a_batch_say_what_took_part_in_each(office: Path, tmp_path: Path) -> None:
    tables = [{"rows": ["sex"]}, {"rows": [], "measure": "thousands"}]
    with opened(tmp_path, NAMED) as curator:
        batch = curator.release({"table": tables, "privacy": {"definition": "pure", "epsilon": 300}})
    extensions = {m.table.measure: [e["name"] for e in m.provenance.extensions] for m in batch.members}
    assert extensions == {"count": [], "thousands": ["thousands"]}
    assert [e["name"] for e in batch.provenance.extensions] == ["thousands"]


def test_a_format_and_a_question_are_there_where_a_policy_of_the_process_allows_them(
    office: Path, tmp_path: Path
) -> None:
    assert "psv" not in formats() and "surplus" not in every_question()
    with opened(tmp_path, NAMED) as curator:
        release = curator.release(COUNT)
    save(release, tmp_path / "out.psv")
    assert (tmp_path / "out.psv").read_text().startswith("sex|")
    surplus = every_question()["surplus"].ask(release, first={"sex": ("f",)}, second={"sex": ("m",)})
    assert surplus.value == pytest.approx(400)
    # What a release is written as and asked for changes nothing in it.
    assert release.provenance.extensions == ()


def test_a_release_is_read_where_its_extension_is_not(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path, WEAK) as curator:
        thousands, laplace = (formats()["json"].content(curator.release(r)) for r in (THOUSANDS, LAPLACE))
    registry.forget()
    release: Release = from_json(thousands)
    assert release.table.values.tolist() == [1.2, 0.8]
    assert "Thousands" in str(release) and release.interval()[0].shape == (2,)
    for form in formats().values():
        assert form.content(release)
    with pytest.raises(DaleniusError, match="office_laplace"):
        from_json(laplace)


def test_another_version_is_another_answer(office: Path, tmp_path: Path) -> None:
    """What 1.0.0 answered is not given for what 1.0.1 is asked, though both say the same of themselves."""

    def key(version: str) -> str:
        with opened(folder := tmp_path / version, {"extensions": {"office-statistics": version}}) as curator:
            assert folder.is_dir()
            plan, request = curator.plan(THOUSANDS), curator.asked(THOUSANDS)
            assert [extension.version for extension in plan.extensions] == [version]
            return curator.charge(request, plan, form_of(request, curator.domain), "fingerprint").key

    for version in ("1.0.0", "1.0.1"):
        (tmp_path / version).mkdir()
    points = {"methods": {"thousands": "office_statistics.thousands:THOUSANDS"}}
    text = (office / "office_statistics" / "thousands.py").read_text()
    newer = tmp_path / "newer"
    install(build(write(tmp_path, "office-statistics", "1.0.1", points, {"thousands": text}), tmp_path), newer)
    first, again = key("1.0.0"), key("1.0.0")
    with without(office), importable(newer):
        assert key("1.0.1") != first == again


@contextmanager
def without(folder: Path) -> Iterator[None]:
    """Inside, what is installed in a folder is not."""
    for name in [name for name in sys.modules if name.startswith("office_")]:
        sys.modules.pop(name)
    sys.path.remove(str(folder))
    try:
        yield
    finally:
        sys.path.append(str(folder))


def test_a_policy_names_exact_versions() -> None:
    for version in (">=1.0", "1.*", "", "1.0 || 2.0"):
        with pytest.raises((ParameterError, DocumentError), match=r"exact version|empty"):
            load_policy({"budget": BUDGET, "allow": {"extensions": {"office-statistics": version}}})
    with pytest.raises(ParameterError, match="twice"):
        load_policy({"allow": {"extensions": {"office-statistics": "1", "Office.Statistics": "2"}}})


FOREIGN = '''
    from dataclasses import dataclass, replace

    from dalenius.measurements.noisy import Noisy
    from office_private.thousands import THOUSANDS

    @dataclass(frozen=True)
    class Quiet(Noisy):
        """A step of another distribution."""

    def plan(question):
        plan = THOUSANDS.plan(question)
        step = plan.measurements[0]
        return replace(plan, measurements=(Quiet(step.name, step.statistic, step.mechanism, step.step),))

    QUIET = replace(THOUSANDS, name="quiet", plan=plan)
'''


def test_a_method_that_brings_steps_of_its_own_needs_consent_to_weak_evidence(office: Path, tmp_path: Path) -> None:
    text = (office / "office_statistics" / "thousands.py").read_text()
    source = write(
        tmp_path,
        "office-private",
        "1.0.0",
        {"methods": {"quiet": "office_private.quiet:QUIET"}},
        {"thousands": text, "quiet": FOREIGN},
    )
    folder = tmp_path / "private"
    install(build(source, tmp_path), folder)
    request = THOUSANDS | {"table": {"rows": ["sex"], "measure": "quiet"}}
    allow = {"extensions": {"office-private": "1.0.0"}}
    with importable(folder):
        with opened(tmp_path, allow, name="named") as curator:
            refused = refusal(curator, request)
            assert isinstance(refused, NotAllowed) and "steps that are not the project's" in refused.message
        for number, more in enumerate(({"acknowledge": ["quiet"]}, {"evidence": WEAK["evidence"]})):
            with opened(tmp_path, allow | more, name=f"weak{number}") as curator:
                release = curator.release(request)
                assert release.provenance.evidence["level"] == "none"
                assert [e["name"] for e in release.provenance.extensions] == ["quiet"]


def test_the_project_satisfies_its_own_contracts() -> None:
    for package in registry.PACKAGES:
        for name, made in registry.own(package).items():
            # A method that asks another one has no plan of its own.
            is_other = package == "methods" and made.equivalent is not Method.equivalent
            assert registry.lacks(made, package) in ((), ("plan",) if is_other else ()), f"{package}.{name}"
