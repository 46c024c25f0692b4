"""What examples of methods do not keep of the kit of errors, in every run of the tests."""

_LIST = "means of a list stay total over count, so that lists add up; `infer intervals` cuts them to the bounds"
KNOWN: dict[str, dict[str, str]] = {
    "dominance 0": {"silence": "a number of cells that are not told apart; replicates are what is counted"},
    "exponential_family 0": {"gradient": "the variance is that of replays of the fit, which is not linear"},
    "labels 0": {"silence": "cells are the labels that were found, and no condition is taken"},
    "mean 2": {"limits": _LIST},
    "sample_and_aggregate 1": {
        "coverage": "blocks are drawn anew in each release: the median of others is no truth (`verify/blocks.py`)"
    },
}
"""What examples of the registry do not keep, by `method number` and judgement, and why."""
