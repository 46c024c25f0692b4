"""Ranks at which quantiles are asked for: whoever reads a release finds the same ones, on any machine."""

import ast
import inspect
from fractions import Fraction
from hashlib import sha256
from statistics import NormalDist

from dalenius.algebra import block_quantiles as quantiles
from dalenius.algebra.block_quantiles import CONFIDENCE, NORMAL_QUANTILE, ranks_of

FUNCTIONS = (quantiles.ranks_of.__wrapped__, quantiles._variances, quantiles._reach)
# Rounded alike everywhere, by IEEE 754, or exact.
PORTABLE = {"sqrt", "ceil", "max", "min", "round", "float", "range", "len", "sorted", "zip", "tuple", "enumerate"}


def test_the_constant_is_the_quantile() -> None:
    assert abs(NORMAL_QUANTILE - NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)) < 1e-15


def test_ranks_are_made_of_operations_that_every_machine_rounds_alike() -> None:
    calls = set()
    for function in FUNCTIONS:
        tree = ast.parse(inspect.getsource(function))
        assert not any(isinstance(node, ast.Pow) for node in ast.walk(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls.add(node.func.id)
    assert calls <= PORTABLE | {"lru_cache", "steps_of", "_variances", "_reach", "Ranks"}, calls


def test_ranks_stay_what_they_were() -> None:
    digest = sha256()
    for size in (1, 7, 50, 999, 20_000, 1_234_567):
        for parts in (2, 4, 10):
            qs = tuple(Fraction(k, parts) for k in range(1, parts))
            for epsilon in (Fraction(1, 10), Fraction(7, 5)):
                ranks = ranks_of(size, qs, epsilon, 2)
                digest.update(repr((ranks.places, ranks.moves, ranks.steps)).encode())
    assert digest.hexdigest()[:16] == "3b12272a50d4616a"
