"""The plain question beside the best expert's: no key that changes the error alone makes intervals clearly shorter.

Claim, fixed before the first run that was kept. For every measure that states an interval, on the survey demo and two public files (one with a
public size under replace, two under add-remove), no key that changes the error alone makes the width of an interval less than 1/1.05 of
the default's: the median of 20 releases, for the same kind of interval (of noise, or with sampling) and the same guarantee. Nor do the
pairs (objective, strategy), or another definition that implies the guarantee. At most 5 exceptions, each with its reason (`EXCEPTIONS`).

Requests are the examples of every method without these keys, written for the roles of the file's columns, whose rows are dealt to
six groups. Which keys change the error alone says `docs/reference/keys.md`, which is made from the code; their values come from the models of requests:
words of a choice, names of the registry, and a ladder of numbers; what is refused is no choice. Tables of keys (`noise`, `expected`, `expected_persons`) are not varied.
Definitions that imply another: pure privacy at sqrt(2 rho) for rho; for (epsilon, delta) pure privacy at epsilon, and the rho that implies them.
A release's width is that of the median cell, infinite where a cell has no interval; of several tables of one measure it is the root
mean square over all cells, which the default objective makes small. A request that leaves out a kind of interval answers less and is
not compared. Keys whose first three releases are wider by a quarter, or whose plan is the default's, are released no further.
Blocks are asked for location on the second number alone: what toys declare as a range suits no other column. Requests whose first release takes more than three s are left out and listed.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from dalenius.algebra import tabulation
from dalenius.core import registry
from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.law import FloatArray
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.rationals import plain
from dalenius.core.release import Release
from dalenius.curator import gate
from dalenius.curator.planner import Planner
from dalenius.demo import survey
from dalenius.demo.survey_rows import WAVES
from dalenius.engines import engine_for
from dalenius.errors import DaleniusError
from dalenius.plans.allotments import affordable_rho
from dalenius.spec.load import load_dataset
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import PrivacyPart, RequestDocument, TablePart
from verify._file_requests import examples
from verify._stacks import FILES, File, Population, Stack, population

RELEASES, FIRST, GROUPS, PERSONS, SLOW = 20, 3, 6, 5_000, 3
PAIRS = (("objective", "strategy"),)
WORST, WIDER, MOST_EXCEPTIONS = 1 / 1.05, 1.25, 5
SHARES = tuple(map(Fraction, ("1/20", "1/5", "1/2")))
NUMBERS = (20, 1_000, 10_000)
POLICY = {
    "budget": {"rho": 1000, "delta": "0.5"},
    "allow": {"acknowledge": ["fixed_weights", "individual", "bootstrap"]},
    "floors": {"individual": 1, "bootstrap": 1},
}
KEYS = Path(__file__).parents[1] / "docs/reference/keys.md"
Request = dict[str, dict[str, Any]]
Kind = tuple[str, str]
"""The measure of a table, and which error its interval is of."""
Widths = dict[Kind, float]


def _error_only() -> frozenset[str]:
    """Names of keys that change the error alone, as the page that is made from the code says."""
    rows = (line.split(" | ") for line in KEYS.read_text().splitlines() if line.startswith("| `"))
    return frozenset(row[0].strip("| `") for row in rows if row[3] == "error")


ERROR_ONLY = _error_only()


def _survey(path: Path) -> None:
    """The first wave of the second demo."""
    survey.materialise(path.parent / "survey", PERSONS)
    (path.parent / "survey" / survey.microdata_name(WAVES[0])).rename(path)


SURVEY = File(
    name="survey.parquet",
    x="income",
    y="hours",
    by="sex",
    w="weight",
    unit="person",
    max_rows=4,
    declared={
        "income": {"bounds": [0, 250_000], "step": 1},
        "hours": {"bounds": [0, 80], "step": 1},
        "weight": {"bounds": [0, 200], "step": "0.1"},
    },
    make=_survey,
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file under one relation, with a public size where it is declared."""

    file: File
    relation: str
    is_sized: bool = False


def _named(name: str) -> File:
    return next(file for file in FILES if file.name == name)


PLACES = (
    Place(file=SURVEY, relation="add-remove"),
    Place(file=_named("pums2000_california_10000.csv"), relation="replace", is_sized=True),
    Place(file=_named("acs2012_openintro_2000.csv"), relation="add-remove"),
)


@dataclass(frozen=True, kw_only=True)
class Data:
    """A declaration, its rows, and the requests about them."""

    name: str
    domain: Domain
    source: Source
    planner: Planner
    requests: tuple[Request, ...]

    @classmethod
    def of(cls, place: Place, folder: Path) -> "Data":
        """Every row of the file, of persons dealt to the groups in turn."""
        people = population(place.file, folder)
        rows = people.rows
        places = np.arange(len(rows.person))
        stack = Stack(
            population=people, rows=rows.at(places, rows.person % GROUPS, rows.person), groups=GROUPS, places=places
        )
        document = stack.document(place.relation)
        if place.is_sized:
            document["dataset"]["size"] = people.persons
        domain = load_dataset(document).domain()
        source = engine_for(stack.table()).open(domain, stack.table(), b"verify")
        planner = Planner(domain=domain, policy=PolicyDocument.from_dict(POLICY))
        return cls(
            name=place.file.name, domain=domain, source=source, planner=planner, requests=tuple(_requests(people))
        )

    def plan(self, request: Request) -> TablePlan | None:
        """The plan; None where it is refused."""
        with suppress(DaleniusError):
            return self.planner.plan(RequestDocument.from_dict(request))
        return None

    def widths(self, plan: TablePlan, number: int) -> Widths:
        """The median width over all cells of each shown table, by the measure of the table and the kind of interval."""
        plan = gate.with_keys(plan, "verify", b"verify" * 8)
        done = gate.run(plan, self.source, plan.neighbours, plan.reservation, RecordedRandomness(f"defaults {number}"))
        if done.is_silent:
            return {}
        provenance = plan.provenance(self.domain, request={}, digest="0", software="verify")
        release = Release(tables=plan.assemble(done.blocks), blocks=done.blocks, law=plan.law, provenance=provenance)
        found: dict[Kind, list[FloatArray]] = {}
        for table in release.tables:
            if table.measure not in _MEASURED_BESIDE or table.measure == release.table.measure:
                for kind, ends in (("noise", tabulation.bounds), ("sampling", tabulation.sampled_bounds)):
                    lower, upper = ends(release, table)
                    found.setdefault((table.measure, kind), []).append((upper - lower).ravel())
        return {
            key: _typical(np.concatenate(parts), is_list=len(parts) > 1)
            for key, parts in found.items()
            if _is_given(parts)
        }


def _is_given(parts: Sequence[FloatArray]) -> bool:
    return any(np.isfinite(part).any() for part in parts)


def _typical(widths: FloatArray, *, is_list: bool) -> float:
    """The median cell of a table; of several tables the root mean square, which the default objective makes small."""
    if is_list and np.isfinite(widths).all():
        return float(np.sqrt(np.mean(widths**2)))
    return float(np.median(np.where(np.isfinite(widths), widths, np.inf)))


# Shown beside what was asked for: what a plan measured on its way.
_MEASURED_BESIDE = ("count", "weighted count", "bound", "number of persons")


def _requests(people: Population) -> Iterator[Request]:
    """Examples of every method without keys that change the error alone, each once; one number where it is one."""
    seen = set()
    for name, method in registry.every("methods").items():
        if not method.has_error:
            continue
        for (table, privacy), example in zip(_matching(people, name), _shown(people, method), strict=True):
            if name == "sample_and_aggregate" and (table["of"], table["model"]) != ("y", "huber"):
                continue
            others = () if {"rows", "columns"} & {*example["table"]} else ("rows",)
            request = {
                "table": {key: value for key, value in table.items() if key not in (*ERROR_ONLY, *others)},
                "privacy": {key: value for key, value in privacy.items() if key not in ERROR_ONLY},
            }
            if str(request) not in seen:
                seen.add(str(request))
                yield request


def _matching(people: Population, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return examples(people).get(name, [])


def _shown(people: Population, method: Any) -> list[Mapping[str, Any]]:
    """The examples that a file has columns for."""
    return [example for example in method.examples if people.file.w or "weight" not in str(example["table"])]


def keys_of(measure: str) -> dict[str, tuple[str, Any]]:
    """Every key that changes the error alone, with its section and its type."""
    method = registry.get("methods", measure)
    found = {}
    for section, model in (("table", TablePart), ("privacy", PrivacyPart), ("table", method.Parameters)):
        for name, about in model.model_fields.items():
            if name in ERROR_ONLY:
                found[name] = (section, about.annotation)
    return found


def values_of(name: str, annotation: Any, request: Request) -> list[Any]:
    """What may be written for a key: words of a choice, names of the registry, or numbers of a ladder."""
    packages = [package for package in registry.PACKAGES if package.endswith((f"{name}s", f"{name[:-1]}ies"))]
    if packages:
        return [each for package in packages for each in registry.own(package)]
    values: list[Any] = []
    for part in _parts(annotation):
        if get_origin(part) is Literal:
            values += get_args(part)
        elif part is bool:
            values += [True, False]
        elif part is Fraction:
            values += [plain(each) for each in SHARES]
        elif part is int:
            values += NUMBERS
        elif get_origin(part) is tuple and Fraction in [each for own in get_args(part) for each in _parts(own)]:
            margins = request["table"].get("margins")
            if isinstance(margins, list):
                values += [[4 if k == first else 1 for k in range(len(margins))] for first in range(len(margins))]
    return values


def _parts(annotation: Any) -> list[Any]:
    """The types that a key may have."""
    if get_origin(annotation) in (Union, UnionType):
        return [each for part in get_args(annotation) for each in _parts(part)]
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    return [] if annotation is NoneType else [annotation]


def equal_guarantees(privacy: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Other definitions that imply the one that is asked for."""
    more = {key: value for key, value in privacy.items() if key not in ("definition", "epsilon", "delta", "rho")}
    epsilon, delta, rho = (
        Fraction(str(privacy[key])) if key in privacy else None for key in ("epsilon", "delta", "rho")
    )
    definition = privacy.get("definition")
    if definition == "zero_concentrated" and rho is not None:
        fine = isqrt(int(2 * rho * 10**12))
        yield {**more, "definition": "pure", "epsilon": plain(Fraction(fine, 10**6))}
    if definition == "approximate" and epsilon is not None and delta is not None:
        yield {**more, "definition": "pure", "epsilon": plain(epsilon)}
        yield {**more, "definition": "zero_concentrated", "rho": plain(affordable_rho(epsilon, delta))}


Variant = tuple[dict[str, Any], Request]


def variants(data: Data, request: Request) -> Iterator[tuple[dict[str, Any], TablePlan]]:
    """Keys alone, then pairs of those that are planned alone, then other definitions."""
    alone: dict[str, list[Any]] = {}
    known = keys_of(request["table"]["measure"])
    for name, (_, annotation) in known.items():
        for value in values_of(name, annotation, request):
            plan = data.plan(_with(request, {name: value}, known))
            if plan is not None:
                alone.setdefault(name, []).append(value)
                yield {name: value}, plan
    for first, second in PAIRS:
        for one, other in product(alone.get(first, ()), alone.get(second, ())):
            plan = data.plan(_with(request, {first: one, second: other}, known))
            if plan is not None:
                yield {first: one, second: other}, plan
    for privacy in equal_guarantees(request["privacy"]):
        plan = data.plan({**request, "privacy": privacy})
        if plan is not None:
            yield {"definition": privacy["definition"]}, plan


def _with(request: Request, keys: Mapping[str, Any], known: Mapping[str, tuple[str, Any]]) -> Request:
    changed = {section: dict(part) for section, part in request.items()}
    for name, value in keys.items():
        changed.setdefault(known[name][0], {})[name] = value
    return changed


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A request, keys that were added to it, and widths in parts of the default's by kind of interval."""

    file: str
    request: Request
    keys: Mapping[str, Any]
    ratios: Mapping[Kind, float]

    @property
    def is_shorter(self) -> bool:
        return min(self.ratios.values()) < WORST

    def line(self) -> dict[str, Any]:
        """One line of a table of results."""
        (measure, kind), ratio = min(self.ratios.items(), key=lambda pair: pair[1])
        rest = {key: value for key, value in self.request["table"].items() if key != "measure"}
        return {
            "file": self.file,
            "measure": self.request["table"]["measure"],
            "request": ", ".join(f"{key} = {value}" for key, value in (rest | self.request["privacy"]).items()),
            "keys": ", ".join(f"{key} = {value}" for key, value in self.keys.items()),
            "interval": f"{measure}, {kind}",
            "width": ratio,
        }


@dataclass(frozen=True, kw_only=True)
class Exempt:
    """Keys that may make an interval shorter than the default's, why, and where."""

    keys: frozenset[str]
    reason: str
    holds: Callable[[Comparison], bool] = lambda made: True


def _is_list(made: Comparison) -> bool:
    return made.request["table"].get("margins") is not None


EXCEPTIONS = (
    Exempt(
        keys=frozenset({"objective", "weights", "strategy"}),
        reason="in a list they say which tables matter: what one gains another loses, and of lists of estimates the default makes the error of sums small",
        holds=_is_list,
    ),
    Exempt(
        keys=frozenset({"objective", "strategy"}),
        reason="under replace a strategy may measure one table by parts that share noise; a plain table has independent noise, "
        "so that every analysis of it is exact",
        holds=lambda made: not _is_list(made),
    ),
    Exempt(
        keys=frozenset({"in_cells_of"}),
        reason="the declared size says how large cells are; another number trades an interval of noise for one with sampling",
        holds=lambda made: max(made.ratios.values()) > 1,
    ),
    Exempt(
        keys=frozenset({"learn"}),
        reason="what the coarse counts lose the fine ones gain, and what is fine depends on the coarse ones",
    ),
    Exempt(
        keys=frozenset({"blocks", "aggregate"}),
        reason="estimates of smaller blocks, and what is left of them without the outer ones, are of another number: their "
        "bias is no part of an interval",
    ),
)


def exception_for(made: Comparison) -> str:
    """The reason why a shorter interval does not count; nothing where there is none."""
    return next((each.reason for each in EXCEPTIONS if {*made.keys} <= each.keys and each.holds(made)), "")


def compared(data: Data, request: Request, releases: int = RELEASES) -> Iterator[Comparison]:
    """Every key beside the default."""
    default = data.plan(request)
    if default is None:
        return
    usual = [data.widths(default, number) for number in range(FIRST)]
    if not all(usual):
        return
    same = _measured(default)
    for keys, plan in variants(data, request):
        if _measured(plan) == same:
            continue
        drawn = [data.widths(plan, number) for number in range(FIRST)]
        if not {*usual[0]} <= {*drawn[0]}:
            continue
        if drawn != usual[:FIRST] and min(_ratio(drawn, usual[:FIRST], kind) for kind in usual[0]) < WIDER:
            usual += [data.widths(default, number) for number in range(len(usual), releases)]
            drawn += [data.widths(plan, number) for number in range(FIRST, releases)]
        ratios = {kind: _ratio(drawn, usual[: len(drawn)], kind) for kind in usual[0]}
        yield Comparison(file=data.name, request=request, keys=keys, ratios=ratios)


def judged(place: Place, measures: Sequence[str] = (), releases: int = RELEASES) -> tuple[list[Comparison], list[str]]:
    """Every comparison on one file, and the requests that were left out because they are slow."""
    found: list[Comparison] = []
    slow: list[str] = []
    with TemporaryDirectory() as folder:
        if not place.file.path(Path(folder)).exists():
            return [], []
        data = Data.of(place, Path(folder))
        for request in data.requests:
            if measures and request["table"]["measure"] not in measures:
                continue
            default, started = data.plan(request), time.perf_counter()
            if default is not None and data.widths(default, 0) and time.perf_counter() - started > SLOW:
                slow.append(f"{data.name}: {request['table']}")
                continue
            found += compared(data, request, releases)
            print(f"verify: defaults: {data.name}, {request['table']}, {len(found)}", file=sys.stderr, flush=True)
    return found, slow


def run(quick: bool = False) -> dict[str, Any]:
    """All files side by side; of the quick check counts and means of the demo, released five times."""
    if quick:
        results = [judged(PLACES[0], ("count", "mean"), 5)]
    else:
        with ProcessPoolExecutor(len(PLACES), mp_context=get_context("spawn")) as pool:
            results = list(pool.map(judged, PLACES))
    return verdict([made for found, _ in results for made in found], [text for _, slow in results for text in slow])


def verdict(found: Sequence[Comparison], slow: Sequence[str] = ()) -> dict[str, Any]:
    """Which keys made an interval shorter, with and without a reason."""
    shorter = [made for made in found if made.is_shorter]
    lost = [made.line() for made in shorter if not exception_for(made)]
    reasons = Counter(exception_for(made) for made in shorter if exception_for(made))
    least: dict[str, float] = {}
    for made in found:
        if not made.is_shorter:
            measure = made.request["table"]["measure"]
            least[measure] = min(least.get(measure, 1.0), *made.ratios.values())
    return {
        "files": len({made.file for made in found}),
        "requests": len({(made.file, str(made.request)) for made in found}),
        "comparisons": len(found),
        "least width that is no shorter, by measure": least,
        "exceptions": {reason: f"{many} comparisons" for reason, many in reasons.items()},
        "examples of exceptions": [
            min((m for m in shorter if exception_for(m) == reason), key=lambda m: min(m.ratios.values())).line()
            for reason in reasons
        ],
        "left out because a release is slow": sorted(slow),
        "shorter than the default": lost,
        "ok": not lost and len(reasons) <= MOST_EXCEPTIONS and bool(found),
    }


def _measured(plan: TablePlan) -> str:
    """What makes two plans one."""
    return repr((plan.measurements, plan.law, plan.preview.get("best")))


def _ratio(drawn: Sequence[Widths], usual: Sequence[Widths], kind: Kind) -> float:
    """The median width of some releases in parts of that of the default's."""
    wide, default = (float(np.median([each.get(kind, np.inf) for each in widths])) for widths in (drawn, usual))
    return 1.0 if wide == default else wide / default if default else float("inf")
