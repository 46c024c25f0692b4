"""What is found of other distributions, and what of it is never used: names, faults, versions, cost."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.building import build, importable, install, uninstall, write

from dalenius.core import registry
from dalenius.core.registry import Allowed, allowing
from dalenius.errors import UnknownName

GOOD = """
    from dataclasses import replace
    from dalenius.core import registry

    Good = replace(registry.get("methods", "persons"), name="{name}")
"""
ALL = Allowed.of({"office-a": "1.0.0", "office-b": "1.0.0"}, is_unvetted=True)


def distribution(folder: Path, name: str, points: Any, modules: Any, version: str = "1.0.0") -> Path:
    """Build and install a distribution; return where."""
    target = folder / f"{name}-{version}-installed"
    install(build(write(folder, name, version, points, modules), folder), target)
    return target


def faults() -> dict[str, str]:
    """Why each installed extension cannot be used."""
    return {
        f"{e.package}.{e.name}": e.fault or registry.load(e)[1]
        for e in registry.installed()
        if e.distribution.startswith("office")
    }


BROKEN: dict[str, tuple[str, str, str, str]] = {
    "an import that fails": ("methods.gini", "gini:X", "import no_such_module", "ModuleNotFoundError: No module named"),
    "a module that ends the program": ("methods.gini", "gini:X", "import sys\nsys.exit(3)", "SystemExit"),
    "a module without the object": ("methods.gini", "gini:X", "", "AttributeError"),
    "no module": ("methods.gini", "nothing:X", "", "ModuleNotFoundError"),
    "a name of the project": ("methods.count", "gini:X", "X = 1", "the project itself has methods.count"),
    "a private module": ("engines._choice", "gini:X", "X = 1", "not a public name"),
    "a private name": ("methods._gini", "gini:X", "X = 1", "not a public name"),
    "a package inside a package": ("measurements.blocks", "gini:X", "X = 1", "itself has measurements.blocks"),
    "no identifier": ("methods.gini-index", "gini:X", "X = 1", "not a public name"),
    "no extension point": ("shown.release", "gini:X", "X = 1", "there is no extension point 'shown'"),
    "a misspelled point": ("method.gini", "gini:X", "X = 1", "there is no extension point 'method'"),
    "another name inside": ("methods.gini", "gini:Good", GOOD.format(name="count"), "it calls itself 'count'"),
    "a number": ("methods.gini", "gini:X", "X = 1", "it lacks Parameters, answer"),
    "a method without a plan": (
        "methods.gini",
        "gini:X",
        'from dalenius.spec.method import Method\n\nclass X(Method):\n    name = "gini"\n    words = {}\n    examples = ()\n',
        "it lacks plan of the contract Method",
    ),
    "noise without a profile": (
        "mechanisms.mine",
        "gini:X",
        "class X:\n    name = 'mine'\n    is_default = True\n",
        "it lacks evidence, family, guesses, log_pmf",
    ),
    "an engine that cannot open": (
        "engines.mine",
        "gini:X",
        "class X:\n    turn = 0\n    suffixes = ()\n    accepts = None\n",
        "it lacks open of the contract Engine",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_extension_is_named_and_breaks_nothing(fault: str, tmp_path: Path) -> None:
    place, value, text, reason = BROKEN[fault]
    package, _, name = place.rpartition(".")
    before = {p: registry.every(p) for p in ("methods", "engines", "mechanisms")}
    with importable(distribution(tmp_path, "office-a", {package: {name: f"office_a.{value}"}}, {"gini": text})):
        assert list(faults()) == [place] and reason in faults()[place]
        with allowing(ALL):
            for kind, known in before.items():
                # The project's own, and nothing else.
                assert dict(registry.every(kind)) == dict(known)
            if package in registry.PACKAGES and name not in registry.own(package):
                with pytest.raises(UnknownName, match="cannot be used: `dalenius check` says why"):
                    registry.get(package, name)


def test_of_two_distributions_with_one_name_a_policy_allows_one(tmp_path: Path) -> None:
    folders = [
        distribution(
            tmp_path,
            name,
            {"methods": {"gini": f"{name.replace('-', '_')}.gini:Good"}},
            {"gini": GOOD.format(name="gini")},
        )
        for name in ("office-a", "office-b")
    ]
    with importable(folders[0]), importable(folders[1]):
        assert faults() == {"methods.gini": ""}
        for name in ("office-a", "office-b"):
            with allowing(Allowed.of({name: "1.0.0"})):
                registry.get("methods", "gini")
                extension = registry.origin("methods", "gini")
                assert extension is not None and extension.distribution == name
        with allowing(ALL):
            assert "gini" not in registry.names("methods")
            with pytest.raises(UnknownName, match="another one of this name; a policy allows one of them"):
                registry.get("methods", "gini")


def test_one_distribution_that_is_installed_twice_is_the_one_that_is_imported(tmp_path: Path) -> None:
    """Where two versions are on the path, the code is that of the first: the second is never taken for it."""
    points = {"methods": {"gini": "office_a.gini:Good"}}
    folders = [
        distribution(tmp_path, "office-a", points, {"gini": GOOD.format(name="gini")}, version)
        for version in ("1.0.0", "2.0.0")
    ]
    with importable(folders[0]), importable(folders[1]):
        for version, is_there in (("1.0.0", True), ("2.0.0", False)):
            with allowing(Allowed.of({"office-a": version})):
                assert ("gini" in registry.every("methods")) is is_there


def test_a_version_that_is_installed_while_the_program_runs_is_not_used(tmp_path: Path) -> None:
    points, text = {"methods": {"gini": "office_a.gini:Good"}}, {"gini": GOOD.format(name="gini")}
    target = distribution(tmp_path, "office-a", points, text)
    newer = build(write(tmp_path, "office-a", "1.0.1", points, text), tmp_path)
    with importable(target), allowing(ALL):
        assert "gini" in registry.names("methods")
        uninstall("office-a", target)
        install(newer, target)
        assert "version 1.0.1 was installed while the program runs" in faults()["methods.gini"]
        with pytest.raises(UnknownName):
            registry.get("methods", "gini")


def test_what_is_installed_later_is_seen_by_the_next_process_only(tmp_path: Path) -> None:
    points, text = {"methods": {"gini": "office_a.gini:Good"}}, {"gini": GOOD.format(name="gini")}
    wheel = build(write(tmp_path, "office-a", "1.0.0", points, text), tmp_path)
    target = tmp_path / "target"
    target.mkdir()
    with importable(target), allowing(ALL):
        assert "gini" not in registry.names("methods")
        install(wheel, target)
        assert "gini" not in registry.names("methods")
        registry.forget()
        assert "gini" in registry.names("methods")


def test_metadata_that_cannot_be_read_offer_nothing(tmp_path: Path) -> None:
    for name, text in (("bad-1.0.dist-info", "no section\nno sign"), ("worse-1.0.dist-info", "[dalenius.methods]\nx")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_text(text)
    (tmp_path / "nameless-1.0.dist-info").mkdir()
    (tmp_path / "nameless-1.0.dist-info" / "entry_points.txt").write_text("[dalenius.methods]\nx = y:Z\n")
    with importable(tmp_path):
        assert registry.installed() == ()


def test_a_context_ends_where_it_ends_and_hands_on_what_was_used(tmp_path: Path) -> None:
    points = {"methods": {"gini": "office_a.gini:Good"}}
    with importable(distribution(tmp_path, "office-a", points, {"gini": GOOD.format(name="gini")})):
        with allowing(ALL) as outer:
            with allowing(ALL) as inner:
                registry.every("methods")
                assert not inner
                registry.get("methods", "gini")
            with allowing(Allowed()):
                assert "gini" not in registry.names("methods")
            assert "gini" in registry.names("methods")
        assert {extension.name for extension in outer} == {"gini"} == {extension.name for extension in inner}
        assert "gini" not in registry.names("methods")
        registry.admit(ALL)
        assert "gini" in registry.names("methods")
        with allowing(Allowed()):
            assert "gini" not in registry.names("methods")


def test_nothing_is_looked_for_until_a_policy_or_a_refusal_asks() -> None:
    """Neither an import nor a plan under a policy without extensions reads the metadata of distributions."""
    code = (
        "import sys, dalenius\n"
        "from dalenius.core import registry\n"
        "registry.every('mechanisms'), registry.names('methods'), dalenius.table(rows='sex', epsilon=1)\n"
        "assert registry.installed.cache_info().currsize == 0\n"
        "registry.unknown('methods', 'gini')\n"
        "assert registry.installed.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
