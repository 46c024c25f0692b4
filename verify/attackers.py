"""The attackers at length: neighbours over the whole grammar, data-dependent definitions by enumeration, hostile CSV lines.

Claim: no exact loss exceeds its charge, no hostile line moves another row, and every planted fault is found.
"""

import tempfile
from pathlib import Path
from typing import Any

from dalenius.testing.attackers import at_the_data, hostile_lines, neighbour_fuzzer
from dalenius.testing.attackers.planted import FAULTS

SEED = 20_26
PLANS = 300


def _neighbours(requests: int) -> dict[str, Any]:
    found = neighbour_fuzzer.fuzz(SEED, requests)
    return {
        "triples": found.triples,
        "requests_planned": found.planned,
        "requests_refused": found.refused,
        "requests_too_wide_to_be_listed": found.too_wide,
        "above_the_charge": len(found.broken),
        "largest_loss_to_charge": max(found.worst.values()),
        "kinds": len(found.worst),
        "kinds_that_reach_their_charge": sum(ratio > 0.999 for ratio in found.worst.values()),
    }


def _at_the_data(requests: int) -> dict[str, Any]:
    found = at_the_data.fuzz(SEED, requests)
    return {
        "pairs": found.pairs,
        "requests_planned": found.requests,
        "requests_refused": found.refused,
        "above_the_charge": len(found.broken),
        "largest_loss_to_charge": max(found.worst.values()),
    }


def _hostile(files: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        short = hostile_lines.fuzz(SEED, files, Path(folder))
        long = hostile_lines.fuzz(SEED, files // 10, Path(folder), is_long=True)
    return {
        "counted": short.counted + long.counted,
        "refused_at_registration": short.refused + long.refused,
        "wrong": [(verdict, repr(case.line[:60])) for verdict, case in short.broken + long.broken],
    }


def _planted(seeds: int) -> dict[str, Any]:
    """Every fault from several beginnings: one that is found by luck would be missed by some."""
    missed, plans = [], {}
    for fault in FAULTS:
        needed = []
        for seed in range(seeds):
            with fault.planted():
                found = neighbour_fuzzer.fuzz(
                    SEED + seed,
                    PLANS,
                    method=fault.method,
                    definition=fault.definition,
                    keys=fault.keys,
                    is_ended_by_fault=True,
                )
            needed.append(found.planned)
            missed += [] if found.broken else [f"{fault.name} (from {SEED + seed})"]
        plans[fault.name] = max(needed)
    return {"planted": len(FAULTS), "seeds": seeds, "missed": missed, "most_plans_until_found": plans}


def run(quick: bool = False) -> dict[str, Any]:
    """All four; `quick` for a look."""
    share = 20 if quick else 1
    neighbours, at_data = _neighbours(1000 // share), _at_the_data(4000 // share)
    hostile, planted = _hostile(1000 // share), _planted(1 if quick else 5)
    broken = neighbours["above_the_charge"] + at_data["above_the_charge"]
    return {
        "ok": not broken and not hostile["wrong"] and not planted["missed"],
        "neighbours": neighbours,
        "at_the_data": at_data,
        "hostile_lines": hostile,
        "planted_faults": planted,
    }
