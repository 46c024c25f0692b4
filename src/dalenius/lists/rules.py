"""What a policy demands of a table that is summed from a stored list: kept by the sum, or the sum is refused.

A sum of published numbers tells nothing new, so no rule here guards the data: rules are the custodian's word about what
is shown under their name. Which rule is kept by what: docs/decisions/0005-rules-hold-for-tables-from-lists.md.
"""

from collections.abc import Iterator

import numpy as np

from dalenius.core import registry
from dalenius.core.law import Additive, Censored
from dalenius.core.neighbours import Scope
from dalenius.core.release import SHOWN_FROM, Release
from dalenius.errors import Conflict, NotAllowed
from dalenius.plans.ruled_noise import has_ruled_noise, least_shown
from dalenius.spec.policy import PolicyDocument, TableRules
from dalenius.spec.request import RequestDocument


def check(answer: Release, stored: Release, policy: PolicyDocument, *, is_current: bool) -> None:
    """Refuse a table from a list that a rule of the policy does not let be shown.

    `is_current` tells that the list was released under the rules of today.
    """
    for rule, reason in _broken(answer, stored, policy, is_current):
        raise refused(stored, rule, reason)


def refused(stored: Release, rule: str, reason: str) -> NotAllowed:
    """The refusal of a table that a list holds: a second number for the same fact is not released either."""
    entry = stored.provenance.ledger_entry
    return NotAllowed(
        f"The stored list holds this table, and a rule of the policy does not let it be shown: {reason} What is "
        f"published stays readable as release {entry!r}; the same fact is not measured a second time.",
        rule=rule,
        list=entry,
    )


def check_keys(request: RequestDocument, stored: Release) -> None:
    """Refuse what a request names and its answer from a list would leave aside; how a list was made is settled."""
    table, privacy, about = request.table, request.privacy, stored.provenance
    made = about.request
    for key, named, used in (
        ("mechanism", privacy.mechanism, about.mechanism),
        ("strategy", privacy.strategy, about.strategy),
        ("objective", None if table.objective == "cells" else table.objective, made.get("objective")),
        ("weights", list(map(str, table.weights)) or None, None),
        ("keys", dict(table.keys) or None, made.get("keys")),
    ):
        if named not in (None, used):
            raise Conflict(
                f"The stored list holds this table, and there is one number for one fact. It was made once, without the"
                f" {key} that this request names; leave {key!r} out.",
                name=key,
            )


def _broken(answer: Release, stored: Release, policy: PolicyDocument, is_current: bool) -> Iterator[tuple[str, str]]:
    """Rules that the answer does not keep, each with a sentence."""
    rules = policy.table
    yield from _noise(answer, stored, rules)
    if rules.unbiased and not all(table.is_unbiased for table in answer.tables):
        yield "unbiased", "the expected shown value shall be the exact one, and the list was adjusted."
    yield from _counts(answer, stored, rules)
    shown = [table.space for table in (*answer.tables, *stored.tables)]
    shown += [block.space for block in stored.blocks]
    if not rules.structural_zeros and any(space.structural_zeros for space in shown):
        yield ("structural_zeros", "every cell shall be perturbed, and cells that are declared impossible are not.")
    definition = registry.get("definitions", stored.provenance.definition)
    if policy.floors and not is_current and Scope(definition.scope).is_data_dependent:
        yield "floors", "the noise of the list followed the data, above other floors than today's."


def _noise(answer: Release, stored: Release, rules: TableRules) -> Iterator[tuple[str, str]]:
    shown = np.concatenate([table.variance for table in answer.tables])
    blocks = [block.law.variance for block in stored.blocks if isinstance(block.law, Additive)]
    if rules.variance_cap is not None:
        cap, largest = float(rules.variance_cap), float(max([*shown, *blocks], default=0.0))
        # A variance that is not a number is not within the cap.
        if not largest <= cap * (1 + 1e-9) or np.isnan(shown).any():
            yield "variance_cap", f"its noise has variance {largest:.4g}, and {cap:g} is allowed."
    if rules.maximum_entropy or rules.truncation is not None:
        law = stored.law
        is_ruled = isinstance(law, Additive) and has_ruled_noise(rules, law)
        draw = law.variance if isinstance(law, Additive) and is_ruled else 0.0
        if not is_ruled or not (shown <= draw * (1 + 1e-9)).all():
            rule = "maximum_entropy" if rules.maximum_entropy else "truncation"
            yield (rule, "each shown number shall have the one noise of that rule, and a sum of cells has another.")


def _counts(answer: Release, stored: Release, rules: TableRules) -> Iterator[tuple[str, str]]:
    least = least_shown(rules)
    if least is not None and _shown_from(stored) < least:
        rule = "threshold" if rules.threshold is not None else "nonnegative"
        yield rule, f"counts below {least} are not shown, and the list was released before that rule."
    if rules.sparse is not None and any(float(np.mean(table.values)) < float(rules.sparse) for table in answer.tables):
        yield "sparse", f"its mean released count is below {float(rules.sparse):g}."


def _shown_from(stored: Release) -> int:
    """The smallest count other than 0 that a list shows; 0 where it shows every value."""
    if isinstance(stored.law, Censored):
        return stored.law.least
    notes = [note for note in stored.adjustments if note.get("name") == SHOWN_FROM]
    return int(notes[-1]["least"]) if notes else 0
