"""Writes what the requests of `stored_cases.py` mean today: digests, keys, releases (`record.json`) and five ledgers.

The keys of these ledgers protect nothing: rows and noise are public.

Run once, by `python tests/vectors/stored/make_stored.py`, and never to make a failing test pass.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from stored_cases import CASES, DATASETS, POLICY, dataset, rows  # noqa: E402

from dalenius import Curator  # noqa: E402
from dalenius.core.randomness import RandomSource, RecordedRandomness  # noqa: E402
from dalenius.core.release import Release  # noqa: E402
from dalenius.curator.memo import memo_key, plan_digest  # noqa: E402
from dalenius.publish.to_json import to_json  # noqa: E402
from dalenius.spec.canonical import canonical  # noqa: E402

FINGERPRINT = "0" * 64


def open_case(name: str, folder: Path, rng: Callable[[str], RandomSource] = RecordedRandomness) -> Curator:
    """The curator of a case, on the ledger of its data set in `folder`."""
    place, _, rules = CASES[name]
    home = folder / place
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "rows.csv").exists():
        (home / "rows.csv").write_text(rows())
        (home / "dataset.json").write_text(json.dumps(dataset(place), indent=1))
    policy = POLICY | ({"table": rules} if rules else {})
    return Curator.open(home / "dataset.json", ledger=home / "ledger.sqlite", policy=policy, rng=rng(name))


def meaning(curator: Curator, request: dict[str, Any]) -> dict[str, str]:
    """Digests and key of a request, with a fixed fingerprint in place of the file's."""
    document = curator.request(request)
    form, plan = canonical(document, curator.domain), curator.plan(document)
    fixed, decided = plan_digest(plan, curator.policy), form.decided(plan.mechanism, plan.strategy)
    return {
        "digest": form.digest,
        "decided": decided,
        "plan": fixed,
        "key": memo_key(decided, curator.holding.domain_digest, FINGERPRINT, fixed),
    }


def answer(release: Release) -> dict[str, Any]:
    """A digest of the document without what is the ledger's own, and what was charged; the subject came later."""
    blank = replace(release.provenance, ledger_entry="", ledger_head="", cost={}, software="")
    return {
        "release": sha256(to_json(release.with_(provenance=blank, subject=None))).hexdigest(),
        "cost": dict(release.provenance.cost),
    }


def main() -> None:
    """Write the record and the ledgers."""
    record: dict[str, Any] = {}
    registered: set[str] = set()
    for name, (place, request, _) in CASES.items():
        with open_case(name, HERE / "ledgers") as curator:
            if place not in registered:
                curator.register(by="custodian")
                registered.add(place)
            record[name] = meaning(curator, request) | answer(curator.release(request))
    assert registered == set(DATASETS)
    (HERE / "record.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
