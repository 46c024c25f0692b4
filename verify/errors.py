"""The kit of errors with more replicates: what `make test` has no time for.

Claim, fixed before the first run: that of `dalenius.testing.error_kit`, with its bounds, for 150 replicates in each of the three worlds where
numbers are chosen or fitted (9 in one world in `make test`), 200 releases in each world of what is one number of one list (10 in one), and ten
releases of each list (3). What `_known_errors.py` lists as not kept is not judged; what more replicates bring to light is listed here, by name
and with its reason. `python -m verify errors --quick` is the kit as `make test` runs it.
"""

from typing import Any

from dalenius.core import registry
from dalenius.testing import error_kit
from dalenius.testing.simulated import LONG, QUICK
from verify._known_errors import KNOWN as NOT_KEPT

_CERTIFIED = "certified ends hold whatever the data are, and the standard error is that of their distance"
_FAMILY = "the error of sampling is that of the family, which no world follows (`verify/families.py`)"
_RATE = "a parameter has no largest value: corners show what a fit gives at a bound"
KNOWN: dict[str, dict[str, str]] = {
    **{f"boxplot {number}": {"variance": _CERTIFIED} for number in range(2)},
    **{
        f"exponential_family {number}": {"coverage": _FAMILY, "variance": _FAMILY, "limits": _RATE}
        for number in range(3)
    },
    **{f"quantiles {number}": {"variance": _CERTIFIED} for number in range(3)},
    "median 0": {"variance": _CERTIFIED},
    "quantile 0": {"variance": _CERTIFIED},
}
"""What is seen by more replicates only."""


def run(quick: bool = False) -> dict[str, Any]:
    """Every example of every method that claims an error."""
    effort, judged = QUICK if quick else LONG, 0
    unkept, listed = list[dict[str, str]](), list[dict[str, str]]()
    for name, method in registry.every("methods").items():
        for number, example in enumerate(method.examples):
            if not error_kit.claims_error(method, example):
                continue
            judged += 1
            place = f"{name} {number}"
            reasons = NOT_KEPT.get(place, {}) | KNOWN.get(place, {})
            for finding in error_kit.findings(name, example, effort, place):
                is_listed = finding.judgement in reasons
                (listed if is_listed else unkept).append({"example": place, "finding": str(finding)})
    return {"examples": judged, "not kept": unkept, "not kept, and listed": listed, "ok": not unkept}
