"""The eight properties of table servers (Rinott et al. 2018, section 2.2) as policy options, each with what it costs.

A property either shapes the noise (before anything is read) or adjusts released values (after the charge). None may
look at exact counts: a rule evaluated on them would be a release.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.neighbours import Relation
from dalenius.core.release import Release
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import NotAllowed, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.postprocess.clamping import Clamping
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.spec.policy import TableRules

COUNTS = ("count", "weighted count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property: whether differential privacy allows it, how we do it, and what it costs."""

    number: int
    option: str
    wanted: str
    is_compatible: bool
    how: str
    cost: str


PROPERTIES = (
    Property(
        number=1,
        option="threshold",
        wanted="No value below a threshold is shown.",
        is_compatible=True,
        how="Adjustment of released values: what lies strictly between 0 and the threshold goes to the nearer end.",
        cost="No budget; small cells become biased. On exact counts the rule would leak.",
    ),
    Property(
        number=2,
        option="maximum_entropy",
        wanted="Most entropy within a range and a variance.",
        is_compatible=True,
        how="Mechanism max_entropy, with its exact (epsilon, delta).",
        cost="Needs delta; more variance than discrete Laplace noise at the same epsilon for few overlapping cells.",
    ),
    Property(
        number=3,
        option="sparse",
        wanted="Sparse tables are not published.",
        is_compatible=True,
        how="The mean *released* count decides; the planner proposes coarser declared levels beforehand.",
        cost="A table withheld after the charge stays charged. On exact counts the rule would leak.",
    ),
    Property(
        number=4,
        option="nonnegative",
        wanted="No negative counts.",
        is_compatible=True,
        how="Adjustment: nearest non-negative consistent table; measured values stay in the release.",
        cost="No budget; small cells are biased upwards, intervals stay valid.",
    ),
    Property(
        number=5,
        option="structural_zeros",
        wanted="Impossible cells are not perturbed.",
        is_compatible=True,
        how="Declared impossible combinations are shown as 0; rows found there are dropped by rule.",
        cost="No budget. Every other zero is perturbed: an unperturbed empty cell tells that nobody is in it.",
    ),
    Property(
        number=6,
        option="unbiased",
        wanted="The expected shown count is the exact count.",
        is_compatible=True,
        how="Additive noise of mean zero; negative values are shown.",
        cost="Contradicts 1 and 4 in what is shown; the measured values of a release are always unbiased.",
    ),
    Property(
        number=7,
        option="variance_cap",
        wanted="The variance of the noise is at most a given value.",
        is_compatible=True,
        how="The law's variance is known before any data are read; a plan above the cap is refused.",
        cost="A cap sets a floor on epsilon.",
    ),
    Property(
        number=8,
        option="truncation",
        wanted="No value is farther than m from the exact count.",
        is_compatible=True,
        how="Truncated Laplace noise with limit m, with its exact delta.",
        cost="delta = P(noise = m) for one moved cell, more for several: with that probability the count is given away.",
    ),
)
"""Same-participants-same-perturbation is not in the list: no epsilon makes it differentially private."""


def conflicts(rules: TableRules) -> list[str]:
    """Properties that contradict each other in what is shown, in words."""
    found = []
    if rules.unbiased and rules.nonnegative:
        found.append("nonnegative cells cannot be unbiased: shown values are biased, measured ones are not")
    if rules.unbiased and rules.threshold:
        found.append(
            "cells moved to a threshold cannot be unbiased: shown values are biased, measured ones are not"
        )
    if rules.maximum_entropy and rules.truncation is None:
        found.append("maximum entropy needs a range: set truncation")
    return found


def mechanism_for(
    rules: TableRules, sensitivity: Sensitivity, relation: Relation, definition: Definition, budget: Budget
) -> Mechanism:
    """The noise that the rules ask for, within the budget; a refusal says what would have to give."""
    mechanism: Mechanism
    if rules.maximum_entropy:
        mechanism = _most_random(rules, sensitivity, relation, definition, budget)
    elif rules.truncation is not None:
        if budget.epsilon is None or not sensitivity.l1:
            raise Unsupported("Truncated noise is calibrated to an epsilon.")
        mechanism = TruncatedLaplace(rate=budget.epsilon / sensitivity.l1, limit=rules.truncation)
        profile = mechanism.profile(sensitivity, relation)
        if not definition.fits([profile], budget):
            raise NotAllowed(
                f"Truncation at {rules.truncation} gives the count away with probability {float(profile.delta):.3g};"
                " the budget's delta is smaller. Raise the truncation or the delta.",
                delta=float(profile.delta),
            )
    else:
        mechanism = calibrate(DiscreteLaplace, sensitivity, relation, definition, budget)
    check_variance(rules, mechanism.variance)
    return mechanism


def _most_random(
    rules: TableRules, sensitivity: Sensitivity, relation: Relation, definition: Definition, budget: Budget
) -> MaxEntropy:
    if rules.truncation is None or rules.variance_cap is None:
        raise Unsupported("Maximum entropy needs both a truncation and a variance_cap.")
    law = MaxEntropy(Fraction(rules.variance_cap), rules.truncation)
    profile = law.profile(sensitivity, relation)
    if not definition.fits([profile], budget):
        raise NotAllowed(
            f"Maximum-entropy noise within {rules.truncation} and of variance {float(rules.variance_cap):g} is not within"
            f" the budget: it gives the count away with probability {float(profile.delta):.3g}.",
            delta=float(profile.delta),
        )
    return law


def check_variance(rules: TableRules, variance: float) -> None:
    """Refuse noise above the variance cap, from the law alone; infinity stands for a variance that is not known."""
    if rules.variance_cap is None or variance <= float(rules.variance_cap) * (1 + 1e-9):
        return
    cap = float(rules.variance_cap)
    if not isfinite(variance):
        raise NotAllowed(
            f"The policy allows a variance of at most {cap:g}, and the variance of these numbers is not known before data"
            " are read. Ask for counts or totals.",
            rule="variance_cap",
        )
    raise NotAllowed(
        f"The noise has variance {variance:.4g}; the policy allows {cap:g}. A larger epsilon is needed.",
        received=variance,
    )


def apply(rules: TableRules, release: Release) -> Release:
    """The rules that adjust released values, in order: sparse, nonnegative, threshold. Measured blocks stay.

    They are about counts, and under them nothing else is planned; a release of anything else passes unchanged. A list of
    tables is withheld as a whole if one of them is sparse: the others would show its sums. Nothing here can fail after the charge: where the
    nearest consistent table cannot be found from what is shown, negative cells are cut at zero one by one.
    """
    if not release.tables or any(table.measure not in COUNTS for table in release.tables):
        return release
    if rules.sparse is not None:
        mean = min(float(np.mean(table.values)) for table in release.tables)
        if mean < float(rules.sparse):
            note = {"name": "withheld", "reason": "sparse", "rule": "mean released count", "charged": True}
            return release.with_(tables=(), blocks=(), adjustments=(*release.adjustments, note))
    if rules.nonnegative:
        is_known = all(np.isfinite(table.variance).all() for table in release.tables)
        try:
            release = Nonnegative()(release) if is_known else Clamping()(release)
        except Unsupported:
            release = Clamping()(release)
    if rules.threshold is not None:
        release = Clamping(lower=0.0 if rules.nonnegative else -np.inf, threshold=float(rules.threshold))(
            release
        )
    return release


def propose_merging(
    domain: Domain, space: CellSpace, std_error: float, *, size: int | None = None, ratio: float = 0.5
) -> list[dict[str, Any]]:
    """Coarser declared levels for a table that would be mostly noise, from the request and a public size alone.

    A table is called thin if the standard error exceeds `ratio` times the mean count that the public size implies. One
    proposal for each declared level, the finest sufficient one first; nothing is read from data.
    """
    people = size if size is not None else domain.public_size
    if people is None or std_error <= ratio * people / space.size:
        return []
    found = []
    for axis in space.axes:
        for hierarchy in domain.variable(axis.variable).hierarchies:
            groups = len(hierarchy.groups)
            if groups < len(axis):
                cells = space.size // len(axis) * groups
                mean = people / cells
                found.append(
                    {
                        "variable": axis.variable,
                        "level": hierarchy.level,
                        "cells": cells,
                        "mean_count": mean,
                        "is_sufficient": std_error <= ratio * mean,
                    }
                )
    return sorted(found, key=lambda p: (not p["is_sufficient"], -int(p["cells"])))
