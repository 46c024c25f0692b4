"""The eight properties of table servers (Rinott et al. 2018, section 2.2) as policy options, each with what it costs.

A property either shapes the noise (before anything is read) or adjusts released values (after the charge). None may
look at exact counts: a rule evaluated on them would be a release.
"""

from dataclasses import dataclass

from dalenius.spec.policy import TableRules


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
