"""What differs between a recorded answer and today's: worse, better, or simply other; and what of it is allowed.

Numbers are equal to 1e-9 of the larger one, or of the largest of their table. An error, a margin, a cost, or the half-width of an interval
that grew is worse, one that shrank is better. A sentence is not compared, but whether it is there is.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any

EQUAL = 1e-9
SIMULATED = 0.05
"""Ends from simulated noise agree to this share of their half-width."""
ALLOWED = Path(__file__).parent / "allowed.toml"
WORSE, BETTER, OTHER, WORDS, LOST, GAINED = "worse", "better", "other", "words", "lost", "gained"
_WIDTHS = ("std_error", "half_width", "rmse")
"""What a key of an error holds in its name."""
_COSTS = ("rho", "delta", "epsilon")
_ENDS = (("lower", "upper"), ("lower_with_sampling", "upper_with_sampling"))
_WORDS = ("name", "how", "canonical", "role", "page")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field of one case. `ratio` is new over old, where that means something."""

    case: str
    field: str
    kind: str
    old: Any = None
    new: Any = None
    ratio: float = nan

    def __str__(self) -> str:
        ratio = "" if isnan(self.ratio) else f" (x {self.ratio:.4g})"
        return f"{self.kind:6} {self.case} | {self.field}: {_short(self.old)} -> {_short(self.new)}{ratio}"


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 90 else f"{text[:87]}..."


def differences(case: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Everything that differs between two answers to one case."""
    if "refused" in old or "refused" in new:
        if old.get("refused") == new.get("refused"):
            return []
        kind = LOST if "refused" not in old else GAINED if "refused" not in new else OTHER
        return [Difference(case=case, field="refused", kind=kind, old=old.get("refused"), new=new.get("refused"))]
    return list(_compared(case, "", old, new))


def _compared(case: str, field: str, old: Any, new: Any) -> Iterator[Difference]:
    key = field.rpartition("/")[2]
    if key in _WORDS or (key == "notes" and len(old) == len(new)):
        if old != new:
            yield Difference(case=case, field=field, kind=WORDS, old=old, new=new)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        if "fault" in old:
            return
        yield from _intervals(case, field, old, new)
        ends = {end for pair in _ENDS for end in pair if pair[0] in old and pair[0] in new}
        for name in sorted((old.keys() | new.keys()) - ends):
            if name not in old or name not in new:
                kind = LOST if name not in new else GAINED
                yield Difference(case=case, field=f"{field}/{name}", kind=kind, old=old.get(name), new=new.get(name))
            else:
                yield from _compared(case, f"{field}/{name}", old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list) and not (_is_numbers(old) and _is_numbers(new)):
        if len(old) != len(new):
            yield Difference(case=case, field=field, kind=OTHER, old=f"{len(old)} parts", new=f"{len(new)} parts")
        for place, (was, made) in enumerate(zip(old, new, strict=False)):
            yield from _compared(case, f"{field}/{place}", was, made)
    else:
        yield from _numbers(case, field, key, old, new)


def _number(value: Any) -> float | None:
    """A number, also as exact text; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(Fraction(value)) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError):
        return {"nan": nan, "inf": inf, "-inf": -inf}.get(value)


def _is_numbers(values: list[Any]) -> bool:
    return all(value is None or _number(value) is not None for value in values)


def _is_same(old: float | None, new: float | None, scale: float, equal: float = EQUAL) -> bool:
    if old is None or new is None:
        return old is new
    if not (isfinite(old) and isfinite(new)):
        return old == new or (isnan(old) and isnan(new))
    return abs(old - new) <= equal * max(abs(old), abs(new), scale)


def _numbers(case: str, field: str, key: str, old: Any, new: Any) -> Iterator[Difference]:
    """One number or one list of them; of a list the place that differs most."""
    was, made = (part if isinstance(part, list) else [part] for part in (old, new))
    if not (_is_numbers(was) and _is_numbers(made)) or len(was) != len(made):
        if old != new:
            yield Difference(case=case, field=field, kind=OTHER, old=old, new=new)
        return
    first, second = [_number(v) for v in was], [_number(v) for v in made]
    scale = max((abs(v) for v in first if v is not None and isfinite(v)), default=0.0) if len(first) > 1 else 0.0
    yield from _judged(case, field, list(zip(first, second, strict=True)), scale, _is_width(key))


def _is_width(key: str) -> bool:
    return key in ("margin", *_COSTS) or any(word in key for word in _WIDTHS)


def _judged(
    case: str,
    field: str,
    pairs: list[tuple[float | None, float | None]],
    scale: float,
    is_width: bool,
    equal: float = EQUAL,
) -> Iterator[Difference]:
    other = [(old, new, _ratio(old, new)) for old, new in pairs if not _is_same(old, new, scale, equal)]
    if not other:
        return
    if not is_width:
        old, new, _ = max(other, key=lambda pair: abs((pair[0] or 0.0) - (pair[1] or 0.0)))
        yield Difference(case=case, field=field, kind=OTHER, old=old, new=new)
        return
    worst = max(other, key=lambda pair: inf if isnan(pair[2]) else pair[2])
    old, new, ratio = worst
    # An error where there was none is a gain; none where there was one is a loss.
    kind = OTHER if isnan(ratio) else WORSE if ratio > 1 else BETTER
    if isnan(ratio) and _is_missing(old) != _is_missing(new):
        kind = GAINED if _is_missing(old) else LOST
    yield Difference(case=case, field=field, kind=kind, old=old, new=new, ratio=ratio)


def _is_missing(value: float | None) -> bool:
    return value is None or isnan(value)


def _ratio(old: float | None, new: float | None) -> float:
    if old is None or new is None or isnan(old) or isnan(new):
        return nan
    return new / old if old else inf


def _intervals(case: str, field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """Half-widths of intervals, and the ends themselves where half-widths are equal."""
    equal = SIMULATED if str(old.get("how", "")).startswith("simulated") else EQUAL
    for low, high in _ENDS:
        if low not in old or low not in new:
            continue
        ends = [[[_number(v) for v in part[end]] for end in (low, high)] for part in (old, new)]
        if len(ends[0][0]) != len(ends[1][0]):
            yield Difference(case=case, field=f"{field}/{low}", kind=OTHER, old=len(ends[0][0]), new=len(ends[1][0]))
            continue
        halves = [[None if a is None or b is None else (b - a) / 2 for a, b in zip(*one, strict=True)] for one in ends]
        sizes = [abs(v) for part in ends[0] for v in part if v is not None and isfinite(v)]
        # Half-widths are differences: they are as exact as the ends are.
        scale = max(sizes, default=0.0) if equal == EQUAL else 0.0
        name = high.replace("upper", "half_width")
        found = list(_judged(case, f"{field}/{name}", list(zip(*halves, strict=True)), scale, True, equal))
        yield from found
        wide = max((h for h in halves[0] if h is not None and isfinite(h)), default=0.0)
        for end, was, made in zip((low, high), *ends, strict=True):
            if not found:
                pairs, room = list(zip(was, made, strict=True)), scale if equal == EQUAL else wide
                yield from _judged(case, f"{field}/{end}", pairs, room, False, equal)


def allowed() -> list[dict[str, Any]]:
    """The entries of the allow list."""
    return list(tomllib.loads(ALLOWED.read_text()).get("allowed", []))


def is_allowed(entries: list[dict[str, Any]], case: Mapping[str, Any], found: Difference) -> bool:
    """Whether a difference is one that somebody wrote down beforehand; words always are, and so is a gain."""
    if found.kind in (WORDS, GAINED):
        return True
    for entry in entries:
        if not _is_meant(entry, case) or not any(fnmatchcase(found.field, f) for f in entry.get("fields", ["*"])):
            continue
        if found.kind in (BETTER, OTHER) or entry.get("may") == "differ":
            return True
    return False


def _is_meant(entry: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    """Whether an entry is about a case: by its name, and by what its request has and has not."""
    request = case["request"]
    tables = request["table"] if isinstance(request["table"], list) else [request["table"]]
    parts = [{**table, **request["privacy"]} for table in tables]
    has, without = entry.get("has", {}), entry.get("without", [])
    return any(fnmatchcase(case["name"], name) for name in entry.get("cases", ["*"])) and any(
        all(key in part and (value == "*" or part[key] == value) for key, value in has.items())
        and not any(key in part for key in without)
        for part in parts
    )
