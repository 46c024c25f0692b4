"""Writes to `later.json` what requests mean today: digests, keys and releases, with the requests themselves.

Cases are the examples of every method that the registry finds (the first of each also of other units), every strategy, noise and
definition by its name, and keys that all methods share. Data sets and policy are kept in the file, so that it stands for itself.

Run by `python tests/vectors/stored/make_later.py` whenever a change is meant: until version 1.0 the file is made anew in one step.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dalenius import Curator
from dalenius.core import registry
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.memo import memo_key, plan_digest
from dalenius.errors import DaleniusError
from dalenius.ledger.keys import KeyFolder
from dalenius.publish.to_json import write_json
from dalenius.spec.batch import form_of
from dalenius.testing import rule_kit

RECORD = Path(__file__).with_name("later.json")
FINGERPRINT = "0" * 64
Request = dict[str, Any]
PERSONS: dict[str, Any] = {"id": "person", "max_rows": 2}
UNITS: dict[str, dict[str, Any]] = {
    "rows": {"relation": "add-remove"},
    "replaced": {"relation": "replace"},
    "persons": {"relation": "add-remove", **PERSONS},
    "replaced_persons": {"relation": "replace", **PERSONS},
}
AMOUNTS: dict[str, Any] = {"epsilon": 1, "delta": "1e-4", "rho": "1/4"}
TWO = {"definition": "approximate", "epsilon": 1, "delta": "1e-4"}
RHO = {"definition": "zero_concentrated", "rho": "1/4"}
CROSS: dict[str, Any] = {"rows": ["sex"], "columns": ["region"]}
FLAT, PAIRS = CROSS | {"margins": "all"}, {"rows": ["sex"], "columns": ["job"], "margins": "all"}
TREE = {"rows": ["sex", "region"], "margins": [["sex", "region"], ["sex", "region.half"], []]}


def answer(release: Release) -> dict[str, Any]:
    """A digest of the document without what is the ledger's own, and what was charged.

    Numbers count by twelve digits: the last bits of a logarithm depend on the processor.
    """
    blank = replace(release.provenance, ledger_entry="", ledger_head="", cost={}, software="")
    document = write_json(release.with_(provenance=blank, subject=None))
    rounded = json.dumps(json.loads(document, parse_float=lambda digits: f"{float(digits):.12g}"))
    return {"release": sha256(rounded.encode()).hexdigest(), "cost": dict(release.provenance.cost)}


class Source(RecordedRandomness):
    """A stream that begins anew with each case, whatever was drawn before."""

    def begin(self, name: str) -> None:
        """The stream of one case."""
        self.__init__(name)  # type: ignore[misc]


def fresh() -> dict[str, Any]:
    """A record without cases: what they are asked of, and under which policy."""
    person = [f"p{number // 2}" for number in range(len(rule_kit.ROWS["sex"]))]
    datasets = {
        place: rule_kit.DATASET | {"dataset": {"name": place, "population": place, "public": True}, "unit": unit}
        for place, unit in UNITS.items()
    }
    policy = rule_kit.policy_of(None)
    policy["allow"]["acknowledge"] = [*policy["allow"]["acknowledge"], "public_attributes"]
    datasets["lossy"] = json.loads(json.dumps(datasets["rows"]))
    datasets["lossy"]["dataset"] |= {"name": "lossy", "population": "lossy"}
    del datasets["lossy"]["variables"]["region"]["missing"]
    datasets["rows"] = json.loads(json.dumps(datasets["rows"]))
    datasets["rows"]["variables"]["region"]["public"] = "a public register"
    return {"datasets": datasets, "rows": rule_kit.ROWS | {"person": person}, "policy": policy, "cases": {}}


def asked() -> Iterator[tuple[str, str, Request]]:
    """(name, data set, request) of everything that can be asked today; some of it is refused."""
    for name, method in registry.every("methods").items():
        for number, example in enumerate(method.examples):
            request = {**example, "table": {"measure": name, **example["table"]}}
            for place in ("rows", "replaced", "persons") if number == 0 else ("rows",):
                yield f"{name} {number}, {place}", place, request
    for name in registry.names("plans.margins.strategies"):
        for place, table in (("replaced_persons", PAIRS), ("rows", TREE)):
            for amount in (RHO, {"definition": "pure", "epsilon": 1}):
                request = {"table": table, "privacy": amount | {"strategy": name}}
                yield f"strategy {name}, {place}, {amount['definition']}", place, request
    for name in registry.names("mechanisms"):
        yield f"noise {name}", "replaced", {"table": CROSS, "privacy": TWO | {"mechanism": name}}
    for name in registry.names("definitions"):
        budget = {a: AMOUNTS[a] for a in registry.get("definitions", name).amounts if a in AMOUNTS}
        for measure in ("count", "total", "median"):
            table = {"rows": ["sex"]} if measure == "count" else {"measure": measure, "of": "income"}
            request = {"table": table, "privacy": {"definition": name, **budget}}
            yield f"definition {name}, {measure}", "rows", request
    yield "group", "rows", {"table": CROSS, "privacy": TWO | {"group": 2}}
    yield "objective", "rows", {"table": FLAT | {"objective": "maximum"}, "privacy": RHO}
    for universe in ("own", "complete"):
        yield f"{universe} universe", "lossy", {"table": FLAT | {"universe": universe}, "privacy": RHO}
    tables = [CROSS | {"title": "Everybody"}, {"rows": ["sex"], "measure": "total", "of": "income", "share": 2}]
    yield "batch", "rows", {"table": tables, "privacy": TWO}
    yield "shown", "rows", {"table": CROSS, "privacy": TWO, "show": {"nonnegative": True}}


def opened(record: dict[str, Any], place: str, source: Source, folder: Path) -> Curator:
    """The curator of one data set of a record, registered; rows that are chosen by a secret are chosen by its name."""
    ledger, population = folder / f"{place}.sqlite", record["datasets"][place]["dataset"]["population"]
    keys = KeyFolder(folder / f"{place}.sqlite.keys")
    keys.folder.mkdir(mode=0o700)
    keys.path(f"population/{population}").touch(mode=0o600)
    keys.path(f"population/{population}").write_bytes(sha256(population.encode()).digest())
    curator = Curator.open(
        record["datasets"][place], data=record["rows"], ledger=ledger, policy=record["policy"], rng=source
    )
    curator.register(by="custodian")
    return curator


def recorded(curator: Curator, source: Source, name: str, request: Request) -> dict[str, Any]:
    """What a request means: its digests and key with a fixed fingerprint, and the release under recorded noise."""
    document = curator.asked(request)
    form, plan = form_of(document, curator.domain), curator.plan(document)
    fixed, decided = plan_digest(plan, curator.policy), form.decided(plan.mechanism, plan.strategy)
    source.begin(name)
    made = answered(curator.release(document))
    if any(hasattr(measurement, "with_secret") for measurement in plan.measurements):
        # Keyed noise is bound to the fingerprint of the registration, whose form belongs to the engine.
        made.pop("release")
    return {
        "digest": form.digest,
        "decided": decided,
        "plan": fixed,
        "key": memo_key(decided, curator.holding.domain_digest, FINGERPRINT, fixed),
        **made,
    }


def answered(release: Release) -> dict[str, Any]:
    """A digest of the document without what is the ledger's own, and what was charged; of every table of a batch."""
    parts = [answer(part)["release"] for part in release.parts]
    return {"release": "+".join(parts), "cost": dict(release.provenance.cost)}


def main() -> None:
    """Write what is not recorded yet."""
    record = fresh()
    cases, source = record["cases"], Source("")
    with TemporaryDirectory() as folder, ExitStack() as stack:
        curators = {
            place: stack.enter_context(opened(record, place, source, Path(folder))) for place in record["datasets"]
        }
        for name, place, request in asked():
            try:
                made = recorded(curators[place], source, name, request)
            except DaleniusError as refusal:
                print(f"{name}: {refusal.message}")
                continue
            cases[name] = {"place": place, "request": request, **made}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False, default=list) + "\n")


if __name__ == "__main__":
    main()
