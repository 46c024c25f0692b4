"""The eight properties of table servers (Rinott et al. 2018, section 2.2) as policy options, each with what it costs.

A property shapes the noise or the published law of what is shown. Both are known before anything is read. None may
look at exact counts: a rule evaluated on them would be a release.
"""

from typing import NamedTuple


class Property(NamedTuple):
    """One property: the option of a policy, how it is kept under differential privacy, and what it costs."""

    option: str
    wanted: str
    how: str
    cost: str


# In the paper's order. Same-participants-same-perturbation is not in it: no epsilon makes it differentially private.
PROPERTIES = (
    Property(
        "threshold",
        "No value below a threshold is shown.",
        "The published law: noisy counts below the threshold are shown as 0, and no document holds them.",
        "No budget; small cells are biased downwards, by at most what the stated error says. On exact counts the "
        "rule would leak.",
    ),
    Property(
        "maximum_entropy",
        "Most entropy within a range and a variance.",
        "Mechanism max_entropy, with its exact (epsilon, delta).",
        "Needs delta; more variance than discrete Laplace noise at the same epsilon for few overlapping cells.",
    ),
    Property(
        "sparse",
        "Sparse tables are not published.",
        "The mean *released* count decides; the planner proposes coarser declared levels beforehand.",
        "A table withheld after the charge stays charged. On exact counts the rule would leak.",
    ),
    Property(
        "nonnegative",
        "No negative counts.",
        "The published law: noisy counts below 0 are shown as 0, whole; with several measured blocks these are "
        "left out.",
        "No budget; small cells are biased upwards, intervals stay valid; margins need not add up.",
    ),
    Property(
        "structural_zeros",
        "Impossible cells are not perturbed.",
        "Declared impossible combinations are shown as 0; rows found there are dropped by rule.",
        "No budget. Every other zero is perturbed: an unperturbed empty cell tells that nobody is in it.",
    ),
    Property(
        "unbiased",
        "The expected shown count is the exact count.",
        "Additive noise of mean zero; negative values are shown. Means, medians and selections are refused.",
        "Contradicts threshold and nonnegative: a policy that asks for both is refused.",
    ),
    Property(
        "variance_cap",
        "The variance of the noise is at most a given value.",
        "The law's variance is known before any data are read; a plan above the cap is refused.",
        "A cap sets a floor on epsilon.",
    ),
    Property(
        "truncation",
        "No value is farther than m from the exact count.",
        "Truncated Laplace noise with limit m, with its exact delta.",
        "delta = P(noise = m) for one moved cell, more for several: with that probability the count is given away.",
    ),
)
