"""An adversary who only plans: whatever is said of a request before it is released is the same on every content.

Requests of the whole grammar are asked of curators that share every document and differ in what they hold: the data,
an empty file, and a hostile one. The curator of the data is asked once more after it released other tables. All that a
plan is, its guarantee and the refusals are written as one text, and the texts are compared. What is left of a budget is
no part of a plan, and is left apart.

What the product remembers is forgotten between two contents, and each is asked in another order, so that a look at the
first content is not remembered for the second.
"""

import csv
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from pydantic import BaseModel
from typer.testing import CliRunner

from dalenius.cli.main import app as cli
from dalenius.core.domain import Domain, Variable
from dalenius.core.neighbours import Scope
from dalenius.core.rationals import plain
from dalenius.curator.curator import Curator
from dalenius.curator.trade_off import curve
from dalenius.errors import DaleniusError
from dalenius.publish import write_json
from dalenius.server.accounts import Accounts
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.server.services import Services
from dalenius.spec.batch import Asked
from dalenius.spec.guarantees import guarantee_of
from dalenius.spec.load import load_asked, load_policy
from dalenius.spec.request import RequestDocument
from dalenius_lab.attackers import grammar, worlds
from dalenius_lab.attackers.played_requests import typed
from dalenius_lab.attackers.worlds import World
from dalenius_lab.planting import forget_results

Document = dict[str, Any]
Columns = Mapping[str, list[Any]]
_AMPLE = {"rho": "1000", "delta": "1/2"}
POLICY = load_policy(grammar.POLICY.to_dict() | {"budget": _AMPLE, "default_quota": _AMPLE})
DATA, EMPTY, HOSTILE, LATER = "data", "an empty file", "a hostile file", "data after other releases"
# Rows of a hostile file, and what it holds.
_MANY = 40
_TEXTS: tuple[object, ...] = ("<script>", "=1+1", "", "nan", "99999999999999999999", "\u202e", "x" * 1000, None)
_NUMBERS: tuple[object, ...] = (float("nan"), float("inf"), -1e308, 5e-324, 2.0**53, 0.1, -0.0, None)
# What an office asks for first: released between two askings.
OTHERS: tuple[Document, ...] = (
    {"table": {"rows": ["sex", "region"]}, "privacy": {"epsilon": "5"}},
    {"table": {"rows": ["sex"], "measure": "mean", "of": "pay"}, "privacy": {"rho": "2"}},
    {"table": {"measure": "median", "of": "age"}, "privacy": {"epsilon": "3"}},
    {"table": {"rows": ["region"], "measure": "total", "of": "age"}, "privacy": {"rho": "1"}},
)
SIZES: Document = {
    "table": {
        "rows": ["sex", "two"],
        "margins": [["sex", "two"], ["sex"], []],
        "universe": "complete",
        "objective": "relative",
    },
    "privacy": {"rho": "1"},
}
"""A list whose expected sizes come from a release that it names."""
NAMED = "named.release.json"


@dataclass
class Findings:
    """How many requests were compared and planned, and those that were said otherwise on some content."""

    asked: int = 0
    planned: int = 0
    released: int = 0
    kinds: set[tuple[str, str]] = field(default_factory=set)
    broken: list[tuple[str, Document]] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        self.asked, self.planned = self.asked + other.asked, self.planned + other.planned
        self.released += other.released
        self.kinds |= other.kinds
        self.broken += other.broken

    def compare(self, request: Document, said: Mapping[str, str]) -> None:
        """Count a request, and keep it where two contents do not say the same."""
        self.asked += 1
        first = said[DATA]
        if not first.startswith("refused"):
            self.planned += 1
            table = request.get("table")
            measure = str(table.get("measure", "count")) if isinstance(table, Mapping) else "batch"
            self.kinds.add((measure, "accuracy" if "error_at_most" in request["privacy"] else "amount"))
        self.broken += [(content, request) for content, text in said.items() if text != first]


def document_of(domain: Domain) -> Document:
    """A dataset document that declares a domain of the worlds of attackers."""
    unit = domain.neighbours
    content: Document = {
        "dataset": {"name": domain.name, "population": domain.population, "version": domain.version},
        "unit": {"relation": str(unit.relation)},
        "design": {"draws": str(domain.draws)},
        "variables": {name: _declared(variable) for name, variable in domain.variables.items()},
        "structural_zeros": [{name: list(labels) for name, labels in zero.items()} for zero in domain.structural_zeros],
    }
    if domain.unit_id is not None:
        content["unit"] |= {"id": domain.unit_id, "max_rows": unit.max_rows}
    if domain.public_size is not None:
        content["dataset"]["size"] = domain.public_size
    return content


def _declared(variable: Variable) -> Document:
    if variable.is_numeric:
        bounds = variable.bounds
        ends = [plain(bounds.lower), plain(bounds.upper)]
        more = {"missing": bounds.missing, "outside": bounds.outside, "weight": variable.is_weight}
        return {"bounds": ends, "step": plain(bounds.step), **more}
    held = variable.categories
    levels = {
        each.level: {
            group: [label for label, parent in zip(held.labels, each.parent, strict=True) if parent == place]
            for place, group in enumerate(each.groups)
        }
        for each in variable.hierarchies
    }
    more = {"missing": held.missing, "unseen": held.unseen, "hierarchies": levels, "unlisted": variable.is_unlisted}
    return {"categories": list(held.labels), "public": variable.public_source, **more}


def contents(world: World, chance: random.Random) -> dict[str, Columns]:
    """The data of a world, none at all, and a hostile file, in columns."""
    world = typed(world)
    domain, many = world.domain, _MANY
    odd = {name: _NUMBERS if variable.is_numeric else _TEXTS for name, variable in domain.variables.items()}
    names = {variable.source_column: name for name, variable in domain.variables.items()}
    rows = [row for unit in world.units for row in unit]
    owners = [f"p{number}" for number, unit in enumerate(world.units) for _ in unit]
    whole: dict[str, Columns] = {
        DATA: {column: [row[name] for row in rows] for column, name in names.items()},
        EMPTY: {column: [] for column in names},
        HOSTILE: {column: chance.choices(odd[name], k=many) for column, name in names.items()},
    }
    if domain.unit_id is not None:
        persons: dict[str, list[Any]] = {DATA: owners, EMPTY: [], HOSTILE: ["one"] * (many - 2) + ["", None]}
        whole = {content: {**columns, domain.unit_id: persons[content]} for content, columns in whole.items()}
    return whole


def said(curator: Curator, request: Document | Path) -> str:
    """All that is said of a request before it is released, as one text."""
    try:
        plan = curator.plan(request)
        asked = curator.asked(request)
        words = [plan, plan.cost, plan.error, guarantee_of(plan), asked.to_dict(), *_other_amounts(curator, asked)]
        return written(words)
    except (DaleniusError, ValueError) as refusal:
        detail = getattr(refusal, "detail", {})
        return f"refused {type(refusal).__name__}: {refusal} {written(detail)}"


def _other_amounts(curator: Curator, asked: Asked) -> Sequence[object]:
    """What a plan offers beside itself, for one plain number: each further amount is one more plan."""
    if not isinstance(asked, RequestDocument) or asked.table.items or asked.method not in ("count", "mean"):
        return ()
    try:
        return [point.to_dict() for point in curve(curator.planner.plan, asked)]
    except DaleniusError as refusal:
        return [str(refusal)]


def written(value: object, outer: frozenset[int] = frozenset()) -> str:
    """Everything that an object holds, functions and what they enclose included, as a text without addresses."""
    if id(value) in outer:
        return "itself"
    inner = partial(written, outer=outer | {id(value)})
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return f"array{value.shape}{inner(value.tolist())}"
        return f"{value.dtype}{value.shape}{sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, Mapping):
        return f"{kind}{{{', '.join(f'{inner(key)}: {inner(one)}' for key, one in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{kind}({', '.join(sorted(map(inner, value)))})"
    if isinstance(value, list | tuple):
        return f"{kind}({', '.join(map(inner, value))})"
    if isinstance(value, partial):
        return f"{inner(value.func)}({inner(value.args)}, {inner(value.keywords)})"
    if isinstance(value, MethodType):
        return f"{value.__qualname__} of {inner(value.__self__)}"
    if isinstance(value, FunctionType):
        enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
        return f"{value.__module__}.{value.__qualname__}{inner(enclosed)}"
    if isinstance(value, BaseModel):
        return f"{kind}{inner(value.model_dump())}"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{kind}{inner({each.name: getattr(value, each.name) for each in fields(value)})}"
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else repr(value)
    if type(value).__repr__ is not object.__repr__:
        return repr(value)
    return f"{kind}{inner(getattr(value, '__dict__', {}))}"


def requests_of(world: World, chance: random.Random, many: int) -> Iterator[Document]:
    """Requests of the grammar, some with two modifiers of an estimate, and a batch of the last two."""
    has_public = bool(world.public)
    table: Document | None = None
    for number in range(many):
        scope = chance.choice((Scope.ALL_DATA,) * 6 + tuple(Scope))
        if scope is Scope.GIVEN_THE_PUBLIC and not has_public:
            scope = Scope.ALL_DATA
        request = grammar.request_of(chance, scope)
        if scope is Scope.ALL_DATA and request["table"]["measure"] in ("mean", "ratio", "variance", "proportion"):
            grammar.combine(request, chance)
        if scope is Scope.ALL_DATA and number % 6 == 1:
            request["privacy"] = {"error_at_most": chance.choice((1, 3, 20))}
        yield json.loads(json.dumps(request))
        if table is not None and number % 5 == 4:
            privacy: Document = chance.choice(({"rho": "1"}, {"epsilon": "2"}, {"error_at_most": 3}))
            yield {"table": [table, request["table"]], "privacy": privacy}
        table = request["table"]


def fuzz(seed: int, many: int, requests: int, folder: Path, *, is_ended_by_fault: bool = False) -> Findings:
    """So many declarations, each with three contents and so many requests."""
    chance, found = random.Random(seed), Findings()
    for number in range(many):
        world = worlds.world_of(chance, has_public=chance.random() < 0.2)
        place = folder / f"{seed}.{number}"
        found.add(_compare(world, list(requests_of(world, chance, requests)), chance, place))
        if is_ended_by_fault and found.broken:
            break
    return found


def _compare(world: World, requests: Sequence[Document], chance: random.Random, folder: Path) -> Findings:
    """Each request on each content, and on the data once more after other releases."""
    document, found = document_of(world.domain), Findings()
    with ExitStack() as opened:
        curators = {}
        for number, (content, rows) in enumerate(contents(world, chance).items()):
            place = folder / str(number)
            place.mkdir(parents=True)
            curator = Curator.open(document, ledger=place / "ledger.sqlite", policy=POLICY, data=rows)
            curators[content] = opened.enter_context(curator)
        _register(curators[DATA])
        named = folder / NAMED
        named.write_text(json.dumps(_with_sizes(curators[DATA], folder)))
        asked: list[Document | Path] = [*requests, named]
        answers = {content: _answers(curator, asked, chance) for content, curator in curators.items()}
        found.released = _release(curators[DATA], [*OTHERS, *requests])
        answers[LATER] = _answers(curators[DATA], asked, chance)
    for number, request in enumerate((*requests, SIZES)):
        found.compare(request, {content: texts[number] for content, texts in answers.items()})
    return found


def _answers(curator: Curator, asked: Sequence[Document | Path], chance: random.Random) -> list[str]:
    """What is said of each, asked in an order of its own."""
    forget_results()
    order = chance.sample(range(len(asked)), len(asked))
    answers = {place: said(curator, asked[place]) for place in order}
    return [answers[place] for place in range(len(asked))]


def _register(curator: Curator) -> None:
    try:
        curator.register(accept_unseen=True)
    except DaleniusError:
        # A declared size under replace is that of the file: plans do not wait for it.
        return


def _with_sizes(curator: Curator, folder: Path) -> Document:
    """A request that names a release; where nothing is released, one of another file of counts."""
    counts: Document = {"table": SIZES["table"] | {"objective": "cells"}, "privacy": {"epsilon": "5"}}
    try:
        (folder / "release.json").write_bytes(write_json(curator.release(counts, analyst="ana")))
        expected: Document = {"file": "release.json"}
    except DaleniusError:
        (folder / "sizes.csv").write_text("sex,two,count\nf,a,20\nf,b,30\nm,a,10\nm,b,50\n")
        expected = {"file": "sizes.csv", "public": True}
    return SIZES | {"table": SIZES["table"] | {"expected": expected}}


def _release(curator: Curator, requests: Sequence[Document]) -> int:
    """Release what can be; how many were."""
    released = 0
    for request in requests:
        try:
            curator.release(load_asked(request), analyst="ana")
            released += 1
        except (DaleniusError, ValueError):
            continue
    return released


def routes(seed: int, requests: int, folder: Path) -> Findings:
    """The same by the verb `plan` and by previews of the server, anonymous and as an analyst, on files."""
    chance, found = random.Random(seed), Findings()
    world = worlds.world_of(chance)
    # A server plans what is registered, and under replace a declared size is registered with that of the file alone.
    world = replace(world, domain=replace(world.domain, public_size=None))
    asked = [*OTHERS, *requests_of(world, chance, requests)]
    answers = {}
    for number, (content, rows) in enumerate(contents(world, chance).items()):
        place = folder / str(number)
        _write(place, document_of(world.domain), rows)
        with _site(place) as (site, curator, headers):
            ask = partial(_by_routes, place, asked, site, headers, chance)
            answers[content] = ask()
            if content == DATA:
                found.released = _release(curator, asked)
                answers[LATER] = ask()
    for number, request in enumerate(asked):
        found.compare(request, {content: texts[number] for content, texts in answers.items()})
    return found


def _write(place: Path, document: Document, rows: Columns) -> None:
    """A dataset document with its file and policy."""
    place.mkdir(parents=True)
    with (place / "rows.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(rows)
        lines.writerows(zip(*rows.values(), strict=True))
    named = {"source": "rows.csv", "policy": "policy.json"}
    (place / "dataset.json").write_text(json.dumps(document | {"dataset": document["dataset"] | named}))
    (place / "policy.json").write_text(json.dumps(POLICY.to_dict()))


@contextmanager
def _site(place: Path) -> Iterator[tuple[TestClient, Curator, dict[str, str]]]:
    """A server of the data set in a folder, its curator, and the headers of an analyst."""
    limits = {"requests_per_minute": 10**6, "anonymous_per_minute": 10**6, "previews_per_minute": 10**6}
    settings: Document = {"tick_milliseconds": 1, "pages": False, "secure_cookies": False, "limits": limits}
    app = create_app(ServerConfig.of(settings | {"datasets": [{"document": "dataset.json"}]}, place))
    services: Services = app.state.services
    services.desk.register_all(by="attackers", accept_unseen=True)
    accounts = Accounts(services.store)
    token = accounts.create_token(accounts.create("ana", "analyst", None), "attackers")
    with TestClient(app, raise_server_exceptions=False) as client:
        (served,) = services.desk.served.values()
        yield client, served.curator, {"Authorization": f"Bearer {token}"}


def _by_routes(
    place: Path, asked: Sequence[Document], site: TestClient, signed_in: dict[str, str], chance: random.Random
) -> list[str]:
    """What both routes say of each request, asked in an order of its own."""
    forget_results()
    runner, path = CliRunner(), "/api/v1/datasets/attacked/plan"
    answers = {}
    for number in chance.sample(range(len(asked)), len(asked)):
        file = place / "request.json"
        file.write_text(json.dumps(asked[number] | {"dataset": "dataset.json"}))
        # Words, document and other amounts in turn; previews for nobody and for an analyst in turn.
        outcome = runner.invoke(cli, ["plan", str(file), *([], ["--json"], ["--curve"])[number % 3]])
        preview = site.post(path, json=asked[number], headers=signed_in if number % 2 else {})
        content = preview.json()
        for left_apart in ("quota", "already", "digest"):
            content.pop(left_apart, None)
        words = [outcome.exit_code, outcome.output, repr(outcome.exception), preview.status_code, content]
        is_refused = preview.status_code != 200
        answers[number] = f"{'refused' if is_refused else 'planned'} {words}"
    return [answers[number] for number in range(len(asked))]
