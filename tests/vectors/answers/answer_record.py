"""What a request is answered: documents in, documents and numbers out, twice on the same rows.

`drawn` is released under a recorded stream, `still` under noise of exactly zero: its numbers are the noisy sums where every noisy sum is
the true one, so that they do not depend on the order in which noise is drawn. Choices (selections, replicates, blocks) still take
bytes of a stream. Nothing here names a module below the library's face but the one sampler, in `SAMPLER`.
"""

import gzip
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from answer_words import renamed

from dalenius import Curator, inference
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import BudgetError, DaleniusError
from dalenius.ledger.keys import KeyFolder

HERE = Path(__file__).parent
FILE = HERE / "answers.jsonl.gz"
SAMPLER = "dalenius.exact.sampling.sampler_of"
"""The one function by which every integer law is sampled."""
MOST_CELLS = 400
_SAMPLED = "with_sampling"
Case = dict[str, Any]


class _Still:
    """A sampler of noise that is zero, or the nearest number that the law can give."""

    def __init__(self, law: Any) -> None:
        low, high = law.support
        self.value = max(0, -(2**62) if low is None else low)
        self.value = min(self.value, 2**62 if high is None else high)

    def draw(self, size: int, rng: object) -> Any:
        """So many times the same."""
        return np.full(size, self.value, dtype=np.int64)


@contextmanager
def still() -> Iterator[None]:
    """Inside, noise is zero."""
    with patch(SAMPLER, _Still):
        yield


class Stream(RecordedRandomness):
    """A recorded stream that begins anew with each case."""

    def begin(self, name: str) -> None:
        """The stream of one case."""
        self.__init__(name)  # type: ignore[misc]


class Office:
    """Registered data sets of a record, opened once for drawn answers and once for still ones.

    An answer that a ledger holds already, or cannot pay any more, is given again by a curator with a new ledger, so that no case
    depends on those before it.
    """

    def __init__(self, head: Mapping[str, Any], folder: Path) -> None:
        self.head, self.folder, self.number = head, folder, 0
        self.places = {name: renamed(document, "dataset") for name, document in head["datasets"].items()}
        self._open: dict[tuple[str, ...], tuple[Curator, Stream, set[str]]] = {}

    def __enter__(self) -> "Office":
        return self

    def __exit__(self, *_: object) -> None:
        for curator, *_rest in self._open.values():
            curator.close()

    def curator(self, case: Case, kind: str = "drawn", *, is_new: bool = False) -> tuple[Curator, Stream, set[str]]:
        """A registered curator, its source of noise, and the entries that its ledger holds."""
        key = (case["place"], json.dumps(case.get("policy", {}), sort_keys=True), kind)
        if is_new and key in self._open:
            self._open.pop(key)[0].close()
        if key not in self._open:
            self._open[key] = (*self._registered(case), set())
        return self._open[key]

    def _registered(self, case: Case) -> tuple[Curator, Stream]:
        self.number += 1
        document, stream = self.places[case["place"]], Stream("registered")
        ledger, population = self.folder / f"{self.number}.sqlite", document["dataset"]["population"]
        # Which rows of a person count is decided by the population's secret.
        keys = KeyFolder(ledger.with_suffix(".sqlite.keys"))
        keys.folder.mkdir(mode=0o700)
        keys.path(f"population/{population}").touch(mode=0o600)
        keys.path(f"population/{population}").write_bytes(sha256(population.encode()).digest())
        rows = self.head["rows"][self.head["rows_of"][case["place"]]]
        policy = renamed(self.head["policy"], "policy")
        policy |= {
            part: {**policy.get(part, {}), **rules} for part, rules in renamed(case.get("policy", {}), "policy").items()
        }
        curator = Curator.open(document, data=rows, ledger=ledger, policy=policy, rng=stream)
        curator.register(by="custodian", accept_unseen=True)
        return curator, stream

    def _released(self, case: Case, request: Any, kind: str) -> Any:
        """What this request alone is answered."""
        for is_new in (False, True):
            curator, stream, entries = self.curator(case, kind, is_new=is_new)
            stream.begin(case["name"])
            try:
                release = curator.release(request)
            except BudgetError:
                if is_new:
                    raise
                continue
            if release.provenance.ledger_entry not in entries:
                entries.add(release.provenance.ledger_entry)
                break
        return release

    def plans(self, case: Case) -> bool:
        """Whether a request is planned at all."""
        try:
            self.curator(case)[0].plan(renamed(case["request"], "request"))
        except DaleniusError:
            return False
        return True

    def answered(self, case: Case) -> dict[str, Any]:
        """Everything that is recorded of a case; a refusal by its code."""
        request = renamed(case["request"], "request")
        try:
            plan = self.curator(case)[0].plan(request)
            drawn = self._released(case, request, "drawn")
            with still():
                at_truth = self._released(case, request, "still")
        except DaleniusError as refusal:
            return {"refused": refusal.code}
        # Keyed noise is bound to the fingerprint of a registration, which is another one each time.
        is_keyed = "keyed" in case["request"]["table"]
        return {
            "plan": planned(plan),
            "laws": [laws(part) for part in drawn.parts],
            "said": {"canonical": plain(drawn.provenance.request), "notes": list(plan.notes)},
            "drawn": [] if is_keyed else [numbers(part) for part in drawn.parts],
            "still": [numbers(part) | _intervals(part) for part in at_truth.parts],
        }


def planned(plan: Any) -> dict[str, Any]:
    """What is known before data are read: the charge, what is measured, and the errors foreseen."""
    words = ("universe", "law")
    preview = {key: value for key, value in plain(plan.preview).items() if key not in words}
    return {
        "cost": plain(plan.cost.to_dict()),
        "budget": plain(plan.budget.to_dict()),
        "guarantee": plain(plan.neighbours.to_dict()) | {"group": plan.group},
        "account": plan.account,
        "mechanism": plan.mechanism,
        "strategy": plan.strategy,
        "evidence": plain(plan.evidence.to_dict()["level"]),
        "margin": plain(plan.error),
        "preview": preview,
    }


def laws(release: Any) -> dict[str, Any]:
    """The law of what is shown and of every measured block, as the document states them."""
    blocks = [
        {"name": b.name, "shape": list(b.space.shape), "role": b.role, "law": plain(b.law.to_dict())}
        for b in release.blocks
    ]
    return {"shown": plain(release.law.to_dict()), "blocks": blocks}


def numbers(release: Any) -> dict[str, Any]:
    """Every released number, its error, and both ends of its intervals of either kind."""
    tables = []
    for table in release.tables:
        columns = release.to_polars(table).to_dict(as_series=False)
        kept = {
            name: plain(columns[name][:MOST_CELLS])
            for name in columns
            if name in ("value", "std_error", "lower", "upper") or name.endswith(_SAMPLED)
        }
        axes = [[axis.name, *axis.labels[:MOST_CELLS]] for axis in table.space.axes]
        tables.append({"name": table.name, "measure": table.measure, "axes": axes, **kept})
    blocks = [plain(block.values[:MOST_CELLS]) for block in release.blocks]
    return {"tables": tables, "blocks": blocks}


def _intervals(release: Any) -> dict[str, Any]:
    """Of the first table, by the functions of inference; a refusal by its code.

    Those of lists of counts are simulated, which takes seconds; the ends that their tables show are exact.
    """
    is_list = bool(release.tables) and release.is_joint and release.table.measure == "count"
    if is_list:
        return {}
    found: dict[str, Any] = {}
    for kind in ("population", "parameter"):
        try:
            table = inference.intervals(release, kind=kind)
        except DaleniusError as refusal:
            found[kind] = {"refused": refusal.code}
            continue
        except (ValueError, LookupError, TypeError) as fault:
            # A fault of the version that was recorded; whatever comes in its place is compared with nothing.
            found[kind] = {"fault": type(fault).__name__}
            continue
        ends = {"lower": plain(table.lower[:MOST_CELLS]), "upper": plain(table.upper[:MOST_CELLS])}
        found[kind] = {"how": table.method} | ends
    return {"intervals": found}


def plain(value: Any) -> Any:
    """Plain values; numbers that are none as text, so that they compare."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float):
        return float(f"{value:.13g}")
    if isinstance(value, Fraction):
        return str(value)
    return value if isinstance(value, str | int | bool | None) else str(value)


def written(head: Mapping[str, Any], cases: list[Case]) -> bytes:
    """The file: data sets, rows and policy in its first line, then a case a line."""
    lines = [json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in (head, *cases)]
    return gzip.compress("\n".join(lines).encode() + b"\n", 9, mtime=0)


def read() -> tuple[dict[str, Any], list[Case]]:
    """The file again."""
    head, *cases = (json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines())
    return head, cases
