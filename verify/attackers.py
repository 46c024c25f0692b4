"""The attackers at length: neighbours over the whole grammar, data-dependent definitions by enumeration, hostile CSV lines.

Claim: no exact loss exceeds its charge, no hostile line moves another row, and every planted fault is found. Every method under every
definition and every strategy is a part of its own, so that none is left to chance. What is going on is said on stderr. A part that takes
longer than its bound is given up; that is said, and the claim does then not hold.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.core import registry
from dalenius.core.neighbours import Scope
from dalenius.errors import InternalError
from dalenius.plans.counts.ranges import STRATEGIES
from dalenius_lab.attackers import at_the_data, coverage, hostile_lines, neighbour_fuzzer
from dalenius_lab.attackers.planted import FAULTS, PLAIN_COUNT

SEED = 20_26
# Plans of each part, of a fault at most, and processor seconds after which one of them is given up.
PLANS, PLANS_UNTIL_FOUND, SECONDS = 12, 300, 60.0
# Estimators with which each pair of modifiers is attacked: those of fewest sums, whose laws can be listed.
PLAINEST = 4
Keys = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Part:
    """A corner of the grammar."""

    method: str
    definition: str
    strategy: str = ""
    modifiers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For the record."""
        return " / ".join(filter(None, (self.method, self.definition, self.strategy, *self.modifiers)))

    @property
    def keys(self) -> Keys:
        """What is fixed of its requests."""
        if not self.strategy:
            return {}
        privacy = {"mechanism": None, "noise": None, "delta": None, "strategy": self.strategy}
        if self.strategy in STRATEGIES:
            listed: dict[str, object] = {"rows": ["region", "sex"], "ranges": {"region": "all"}}
        else:
            margins = [["region", "sex"], ["region.half"]] if self.strategy == "tree" else "all"
            rows = ["region", "sex"] if self.strategy == "tree" else ["sex", "two"]
            listed = {"rows": rows, "margins": margins, "universe": "complete", "objective": "cells"}
        return {"privacy": privacy, "table": {**PLAIN_COUNT, **listed}}


def parts() -> Iterator[Part]:
    """From the registry: each method under each definition between fixed neighbours, then each strategy, then each pair
    of modifiers with the plainest estimators that it plans for.
    """
    definitions = registry.every("definitions")
    for name, method in registry.every("methods").items():
        for definition, made in definitions.items():
            is_excepted = ("definition", name, definition) in coverage.EXCEPTED
            if made.scope in method.scopes and not Scope(made.scope).is_data_dependent and not is_excepted:
                yield Part(name, definition)
    for strategy in (*registry.names("plans.margins.strategies"), *STRATEGIES):
        for definition in ("pure", "zero_concentrated"):
            yield Part("count", definition, strategy)
    plain = sorted(coverage.ESTIMATES, key=lambda method: len(method.estimator.reads))[:PLAINEST]
    for pair in coverage.attacked_pairs():
        yield from (Part(method.name, "zero_concentrated", modifiers=pair) for method in plain)


def _say(text: str) -> None:
    print(f"attackers, {time.process_time():,.0f} s: {text}", file=sys.stderr, flush=True)


def _neighbours(plans: int) -> dict[str, Any]:
    whole, refused, given_up = neighbour_fuzzer.Findings(), [], []
    attacked = set[tuple[str, ...]]()
    for part in parts():
        try:
            findings = neighbour_fuzzer.fuzz(
                SEED,
                plans,
                method=part.method,
                definition=part.definition,
                keys=part.keys,
                modifiers=part.modifiers,
                seconds=SECONDS,
            )
        except InternalError:
            refused.append(part.name)
            continue
        attacked.add(part.modifiers)
        _say(f"{part.name}: {findings.planned} plans, {findings.triples} triples, {len(findings.broken)} broken")
        given_up += [part.name] if findings.planned < plans else []
        whole.add(findings)
    return {
        "triples": whole.triples,
        "requests_planned": whole.planned,
        "requests_refused": whole.refused,
        "requests_too_wide_to_be_listed": whole.too_wide,
        "above_the_charge": len(whole.broken),
        "largest_loss_to_charge": max(whole.worst.values()),
        "kinds": len(whole.worst),
        "kinds_that_reach_their_charge": sum(ratio > 0.999 for ratio in whole.worst.values()),
        "parts": sum(1 for _ in parts()),
        "parts_refused": refused,
        "pairs_of_modifiers_never_attacked": [" / ".join(p) for p in coverage.attacked_pairs() if p not in attacked],
        "parts_given_up": given_up,
    }


def _at_the_data(requests: int) -> dict[str, Any]:
    findings = at_the_data.fuzz(SEED, requests)
    _say(f"at the data: {findings.pairs} pairs, {len(findings.broken)} broken")
    return {
        "pairs": findings.pairs,
        "requests_planned": findings.requests,
        "requests_refused": findings.refused,
        "above_the_charge": len(findings.broken),
        "largest_loss_to_charge": max(findings.worst.values()),
        "kinds": len(findings.worst),
    }


def _hostile(files: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        short = hostile_lines.fuzz(SEED, files, Path(folder))
        long = hostile_lines.fuzz(SEED, files // 10, Path(folder), is_long=True)
    _say(f"hostile lines: {short.counted + long.counted} counted")
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
                findings = neighbour_fuzzer.fuzz(
                    SEED + seed, PLANS_UNTIL_FOUND, **vars(fault.corner), is_ended_by_fault=True, seconds=SECONDS
                )
            needed.append(findings.planned)
            missed += [] if findings.broken else [f"{fault.name} (from {SEED + seed})"]
        plans[fault.name] = max(needed)
        _say(f"planted: {fault.name}: found after at most {max(needed)} plans")
    return {"planted": len(FAULTS), "seeds": seeds, "missed": missed, "most_plans_until_found": plans}


def run(quick: bool = False) -> dict[str, Any]:
    """All four; `quick` for a look."""
    share = 20 if quick else 1
    neighbours, at_data = _neighbours(1 if quick else PLANS), _at_the_data(4000 // share)
    hostile, planted = _hostile(1000 // share), _planted(1 if quick else 5)
    unplanned = [" / ".join(facet) for facet in coverage.unplanned(1)]
    broken = neighbours["above_the_charge"] + at_data["above_the_charge"]
    is_whole = not (unplanned or neighbours["parts_given_up"] or neighbours["pairs_of_modifiers_never_attacked"])
    return {
        "ok": is_whole and not broken and not hostile["wrong"] and not planted["missed"],
        "neighbours": neighbours,
        "at_the_data": at_data,
        "hostile_lines": hostile,
        "planted_faults": planted,
        "possible_and_never_planned": unplanned,
    }
