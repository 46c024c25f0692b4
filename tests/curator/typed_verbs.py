"""Verbs of a curator as a user writes them, for mypy and pyright: right ones with their types, wrong ones refused.

Every ignored error must occur: both checkers are told to complain of an ignore that nothing needs.
"""

from typing import assert_type

import dalenius
from dalenius import Curator, Release
from dalenius.core.plan import TablePlan


def use(curator: Curator) -> list[Release]:
    """The verbs, with everything that may be said in few words."""
    released = [
        curator.count(by=["region", "sex"], rho=0.1),
        curator.mean("income", by="region", where={"sex": "f"}, weight="w", error_at_most=50),
        curator.median("income", by="region", rho="1/10"),
        curator.quantiles("income", q=["1/4", "3/4"], rho=0.1),
        curator.total("income", by="region", epsilon=1, delta="1e-9"),
        curator.proportion("sex", among=["f"], rho=0.1),
    ]
    assert_type(released, list[Release])
    assert_type(curator.mean("income", rho=0.1, plan=True), TablePlan)
    assert_type(curator.count(by="sex", rho=0.1, plan=False), Release)
    assert_type(dalenius.describe({"age": [1, 2]}).to_toml(), str)
    return released


def misuse(curator: Curator) -> None:
    """What both refuse."""
    curator.mean(3, rho=1)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    curator.mean("income", eror="noise", rho=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    curator.count("income", rho=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    curator.median("income", weight=2, rho=1)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    curator.meen("income", rho=1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
