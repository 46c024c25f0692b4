"""What can be asked, how margins are measured, what data are read with, written as and asked for: one file each, named nowhere else.

Formats and inference questions are planted in tests/publish/test_to_tsv.py and tests/inference/test_questions.py; all of them
on a server in tests/server/api/test_planted_extensions.py.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.plants import ENGINE, METHOD, STATISTIC, STRATEGY
from tests.architecture.sources import MODULES, ROOT, imported, modules_of, nodes_of, place_of, room_of
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.publish import formats
from dalenius_lab.planting import planted

ROOMS = ("curator", "cli", "server")
NAMED = ("methods", "plans.margins.strategies", "engines", "publish", "inference.questions")
NAMES = {name for package in NAMED for name in registry.names(package)} | set(formats())

# A word that is also a name, in a sense that is not ours to choose.
OTHER_SENSE = {
    ("cli/output.py", "spark"): "what to install when a package is missing; the extra has the engine's name",
    ("curator/inspection.py", "dominance"): "a line of the custodian's report, whatever was asked",
    ("curator/inspection.py", "total"): "the label of a table without axes",
    ("curator/planner.py", "json"): "how pydantic gives plain values",
    ("server/pages/reading.py", "compare"): "the name of a page",
    ("server/pages/reading.py", "difference"): "a word in a template",
    ("server/pages/reading.py", "independence"): "the name of a page",
    ("server/pages/reading.py", "interval"): "a word in a template",
    ("server/routes/api.py", "total"): "how many releases there are, a key of an answer",
    ("server/routes/px.py", "csv"): "one of two output formats that the specification of PxWeb names",
    ("server/views.py", "labels"): "words of categories in another language, a key of the dataset document",
}


Nodes = tuple[ast.AST, ...]


def read(text: str) -> Nodes:
    return tuple(ast.walk(ast.parse(text)))


def docstrings(nodes: Nodes) -> set[ast.expr]:
    """What is said about a module, class or function."""
    bodies = (getattr(node, "body", None) for node in nodes)
    first = (body[0] for body in bodies if isinstance(body, list) and body)
    return {statement.value for statement in first if isinstance(statement, ast.Expr)}


def named_in(nodes: Nodes) -> set[str]:
    """Names of extensions that a module spells, wherever it does: also as a default, a key or an argument."""
    about = docstrings(nodes)
    constants = (node for node in nodes if isinstance(node, ast.Constant) and node not in about)
    return {node.value for node in constants if isinstance(node.value, str)} & NAMES


def test_names_of_every_kind_are_looked_for() -> None:
    assert set(NAMED) < set(registry.PACKAGES)
    # Statistics, measurements, noise, definitions and adjustments are parts of an answer, and the policy names some of them.
    assert set(registry.PACKAGES) - set(NAMED) == {
        "statistics",
        "measurements",
        "mechanisms",
        "definitions",
        "postprocess",
        # These have the names of methods and of keys.
        "estimators",
        "modifiers",
    }
    assert {"median", "residual", "duckdb", "to_csv", "csv", "odds_ratio"} <= NAMES


def test_no_module_above_the_extensions_spells_the_name_of_one() -> None:
    senses = set()
    for path in modules_of(*ROOMS):
        for name in named_in(nodes_of(path)):
            place = place_of(path)
            assert (place, name) in OTHER_SENSE, f"{place} knows {name!r} by name"
            senses.add((place, name))
    assert senses == set(OTHER_SENSE), "an exception that nothing needs"


def test_no_page_decides_by_the_name_of_an_extension() -> None:
    texts = {
        path.name: re.findall(r"\{[%{].*?[%}]\}", path.read_text(), re.DOTALL)
        for path in sorted((ROOT / "server" / "templates").rglob("*.html"))
    }
    texts |= {path.name: [path.read_text()] for path in sorted((ROOT / "server" / "static").glob("*.js"))}
    assert len(texts) > 20
    for name, expressions in texts.items():
        for expression in expressions:
            for compared in re.findall(r"""(?:[!=]==?|\bin)\s*[\[(]?["'](\w+)["']""", expression):
                assert compared not in NAMES, f"{name} knows {compared!r} by name"


@pytest.mark.parametrize(
    "text",
    [
        'if measure == "median": pass',
        'is_known = name in ("count", "x")',
        'FORMATS = ("tsv",)',
        'METHODS = {"independence": 1}',
        'source = registry.get("engines", "duckdb")',
        'def f(strategy="residual"): pass',
        "class State:\n    measure: str = 'total'",
        "match name:\n    case 'mean': pass",
        "def f():\n    special = ['median']\n    return special",
        'plan(measure="quantile")',
        'def f():\n    """Of a measure."""\n    return axes, "mean", ""',
    ],
)
def test_the_search_finds_what_it_is_for(text: str) -> None:
    assert named_in(read(text))


def test_what_is_said_about_a_module_is_no_use_of_a_name() -> None:
    assert not named_in(read('"""median"""\n\n\ndef f() -> None:\n    """mean"""\n'))


def reached(nodes: Nodes) -> Iterator[str]:
    """Every module that is imported, however it is written: also by a call with its name."""
    yield from imported(nodes)
    for node in nodes:
        if isinstance(node, ast.Constant) and str(node.value).startswith("dalenius."):
            yield str(node.value)


def is_extension(module: str) -> bool:
    """Whether it is the file of an extension that nobody may know by name."""
    package, _, name = module.removeprefix("dalenius.").rpartition(".")
    return package in NAMED and name in registry.names(package)


def test_no_module_above_the_extensions_imports_one_by_its_file() -> None:
    for path in modules_of(*ROOMS):
        for module in reached(nodes_of(path)):
            assert not is_extension(module), f"{path.name} imports {module}"


@pytest.mark.parametrize(
    "text",
    [
        "from dalenius.methods.median import MEDIAN",
        "from dalenius.methods import median",
        "import dalenius.engines.duckdb",
        'importlib.import_module("dalenius.publish.to_csv")',
    ],
)
def test_an_import_of_an_extension_is_seen(text: str) -> None:
    assert any(map(is_extension, reached(read(text))))


# Collections that hold names of one kind of extension where another meaning is intended, with what they are.
NO_LISTS = {
    "core/release.py": "an older spelling of two measures, which stays readable",
    "inference/questions/parametric_bootstrap.py": "models of a law's estimate; and shapes of noise so wide that a table of it would be too long",
    "inference/questions/small_area.py": "what a release says its cells are",
    "algebra/tabulation.py": "what a release says its cells are",
    "plans/blocks.py": "how answers of blocks are put together",
    "plans/resampling.py": "guarantees that have a delta",
    "methods/_plan.py": "which values of the key `error` an estimate takes",
    "spec/keys.py": "values of the key `error`",
    "methods/propose_test_release.py": "estimates that the method knows a bound of, its own key",
    "methods/sample_and_aggregate.py": "how answers of blocks are put together, its own key",
}
# Checks, demonstrations and reproductions say what they check, show and reproduce.
ASIDE = ("audit", "demo", "reproduce", "testing")


def listed_in(nodes: Nodes) -> set[tuple[str, ...]]:
    """Collections of two or more words most of which are names of one kind of extension."""
    lists = set()
    for node in (n for n in nodes if isinstance(n, ast.Dict | ast.Tuple | ast.List | ast.Set)):
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        words = {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}
        for package in registry.PACKAGES if len(words) > 1 else ():
            names = words & set(registry.names(package))
            if len(names) > 1 and 5 * len(names) >= 3 * len(words):
                lists.add(tuple(sorted(names)))
    return lists


def test_extensions_are_found_and_never_listed() -> None:
    lists = {place_of(path) for path in MODULES if room_of(path) not in ASIDE and listed_in(nodes_of(path))}
    assert lists == set(NO_LISTS)


@pytest.mark.parametrize(
    "text", ['KNOWN = ("pure", "approximate")', '{"total": 1, "mean": 2}', 'Literal["memory", "duckdb"]']
)
def test_a_list_of_extensions_is_seen(text: str) -> None:
    assert listed_in(read(text))


DATASET = """
[dataset]
name = "d"
population = "p"
source = "data.csv"
[variables.sex]
categories = ["f", "m"]
[variables.town]
categories = ["A", "B"]
[variables.income]
bounds = [0, 4]
step = 1
"""
ROWS = "sex,town,income\nf,A,3\nf,B,4\nm,A,2\n"
POLICY = "[budget]\nrho = 1000\n"


def released(
    folder: Path, table: str, privacy: str = "", source: tuple[str, str] = ("data.csv", ROWS)
) -> dict[str, object]:
    """What `dalenius release` writes, with noise that is zero but for a chance of 1e-20."""
    dataset = DATASET.replace("data.csv", source[0])
    for name, text in (("dataset.toml", dataset), source, ("policy.toml", POLICY)):
        (folder / name).write_text(text)
    request = f'dataset = "dataset.toml"\n[table]\n{table}\n[privacy]\ndefinition = "pure"\nepsilon = 900\n{privacy}'
    (folder / "request.toml").write_text(request)
    ledger, policy = ("--ledger", str(folder / "l.sqlite")), ("--policy", str(folder / "policy.toml"))
    for words in (
        ["register", str(folder / "dataset.toml"), *ledger, *policy],
        ["plan", str(folder / "request.toml"), *policy],
        ["release", str(folder / "request.toml"), *ledger, *policy, "-o", str(folder / "out")],
    ):
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    return json.loads((folder / "out" / "release.json").read_text())  # type: ignore[no-any-return]


def test_a_new_statistic_with_its_request_is_one_file_each(tmp_path: Path) -> None:
    with planted("statistics", "energy", STATISTIC), planted("methods", "energy", METHOD):
        document = released(tmp_path, 'rows = ["sex"]\nmeasure = "energy"\nof = "income"')
    (table,) = document["tables"]  # type: ignore[misc]
    assert (table["measure"], table["values"]) == ("energy", [25, 4])
    assert "energy" not in registry.names("methods")


def test_a_new_strategy_is_one_file(tmp_path: Path) -> None:
    with planted("plans.margins.strategies", "last", STRATEGY):
        document = released(
            tmp_path, 'rows = ["sex"]\ncolumns = ["town"]\nmargins = "all"\nuniverse = "complete"', 'strategy = "last"'
        )
    assert document["provenance"]["strategy"] == "last"  # type: ignore[index]
    values = {t["name"]: t["values"] for t in document["tables"]}  # type: ignore[attr-defined]
    assert [1, 1, 1, 0] in [[round(v) for v in cells] for cells in values.values()]


def test_a_new_engine_is_one_file(tmp_path: Path) -> None:
    """The dataset document names a file that no other engine can read."""
    columns = '{"sex": ["f", "f", "m"], "town": ["A", "B", "A"], "income": [3, 4, 2]}'
    with planted("engines", "columns", ENGINE):
        document = released(tmp_path, 'rows = ["sex"]', source=("data.columns", columns))
    (table,) = document["tables"]  # type: ignore[misc]
    assert table["values"] == [2, 1]
