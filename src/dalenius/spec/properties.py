"""The eight properties of table servers (Rinott et al. 2018, section 2.2) as policy options, each with what it costs.

A property shapes the noise or the published law of what is shown. Both are known before anything is read. None may
look at exact counts: a rule evaluated on them would be a release.
"""

from dataclasses import dataclass


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
        how="The published law: noisy counts below the threshold are shown as 0, and no document holds them.",
        cost="No budget; small cells are biased downwards, by at most what the stated error says. On exact counts "
        "the rule would leak.",
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
        how="The published law: noisy counts below 0 are shown as 0, whole; with several measured blocks these are "
        "left out.",
        cost="No budget; small cells are biased upwards, intervals stay valid; margins need not add up.",
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
        how="Additive noise of mean zero; negative values are shown. Means, medians and selections are refused.",
        cost="Contradicts threshold and nonnegative: a policy that asks for both is refused.",
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
        cost="delta = P(noise = m) for one moved cell, more for several: with that probability the count is given "
        "away.",
    ),
)
"""Same-participants-same-perturbation is not in the list: no epsilon makes it differentially private."""
