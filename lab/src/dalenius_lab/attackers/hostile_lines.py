"""A fuzzer for CSV files: one hostile line counts as at most one row, raises nothing, and moves no other row.

Each file is some plain lines and one line of hostile bytes at a random place. A file is refused at registration, by a
rule that the custodian reads, or it is counted, and then: the plain rows count as without the hostile line, which adds
at most one row of its own; Python's own CSV reader and the reference engine give the same table, totals and values,
with the hostile line or, where it is no record, without it.
"""

import csv
import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError

HEADER = b"sex,region,age"
FRAGMENTS: tuple[bytes, ...] = (
    b"f", b"m", b"n", b"3", b"-1", b"",
    b'"', b'""', b'"f"', b'"f', b'f"', b'"n"x', b'"a""b"', b"'", b"\\", b'\\"', b'"\\"',
    b"\x00", b"f\x00", b"\xef\xbb\xbf", b"\xef\xbb\xbff", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80",
    b" ", b"\t", b" f", b"f ", b"\x0b", b"\x0c", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\xc2\xa0",
    b"nan", b"NaN", b"inf", b"-Infinity", b"1e400", b"1e-400", b"0x10", b"1_000", b"1.5", b"3.0", b"+3", b"-0",
    b"9223372036854775808", b"1e18", b"\xd9\xa3", b"NULL", b"null", b"None", b"\\N", b"#", b"--", b"/*",
    b"{", b"[1,2]", b"<b>", b"=1+1", b";", b"|",
)  # fmt: skip
LONG = 1 << 18


@dataclass(frozen=True)
class Hostile:
    """Plain lines, one hostile line, and where it stands."""

    lines: tuple[bytes, ...]
    line: bytes
    place: int
    end: bytes = b"\n"
    is_ended: bool = True

    def content(self, *, is_hostile: bool) -> bytes:
        """The file with or without the hostile line."""
        kept = list(self.lines)
        if is_hostile:
            kept.insert(self.place, self.line)
        return self.end.join([HEADER, *kept]) + (self.end if self.is_ended else b"")


@dataclass
class Counted:
    """How many files were counted and refused, and what went wrong with which."""

    counted: int = 0
    refused: int = 0
    broken: list[tuple[str, Hostile]] = field(default_factory=list)


def domain() -> Domain:
    """Two axes and a number, with rules that keep some odd rows and drop others."""
    variables = {
        "sex": Variable(name="sex", domain=Categories(labels=("f", "m"), missing="m", unseen="drop")),
        "region": Variable(name="region", domain=Categories(labels=("n", "s", "?"), missing="?", unseen="?")),
        "age": Variable(name="age", domain=Bounds(lower=Fraction(0), upper=Fraction(9), outside="clamp")),
    }
    return Domain(name="lines", population="lines", version="1", variables=variables, neighbours=Neighbours())


def hostile(chance: random.Random, *, is_long: bool = False) -> Hostile:
    """One file."""
    plain = [
        b",".join((chance.choice((b"f", b"m")), chance.choice((b"n", b"s")), b"%d" % chance.randint(0, 9)))
        for _ in range(chance.randint(0, 6))
    ]
    fields = [
        b"".join(chance.choice(FRAGMENTS) for _ in range(chance.choice((1, 1, 1, 2, 3))))
        for _ in range(chance.choice((0, 1, 2, 3, 3, 3, 4, 7)))
    ]
    if is_long and fields:
        fields[0] = chance.choice((b"f", b'"', b"\x00", b"9")) * LONG
    line = b",".join(fields)
    if chance.random() < 0.05:
        line = chance.choice((b"\r", b"a\rb", b'"a\nb",n,3', b"f,n,3\r"))
    return Hostile(
        lines=tuple(plain),
        line=line,
        place=chance.randint(0, len(plain)),
        end=chance.choice((b"\n", b"\n", b"\r\n")),
        is_ended=chance.random() < 0.8,
    )


def answers(source: Any) -> dict[str, list[int]]:
    """A table, its totals, and all values."""
    space = _space()
    total = TableQuery(space=space, function=RowFunction.of(Power("age")))
    asked = {
        "count": source.table(TableQuery(space=space)),
        "rows": source.table(TableQuery(space=CellSpace(()))),
        "total": source.table(total),
        "values": source.values(ValuesQuery(value="age")),
    }
    return {name: [int(n) for n in sealed.open_below_the_gate()] for name, sealed in asked.items()}


def _space() -> CellSpace:
    sex = Axis(variable="sex", labels=("f", "m"), codes=(0, 1))
    region = Axis(variable="region", labels=("n", "s", "?"), codes=(0, 1, 2))
    return CellSpace((sex, region))


def reference(content: bytes) -> MemorySource:
    """The records as Python's own reader finds them: too many fields is no record, too few are padded.

    A delimiter at the end of a line opens no further field.
    """
    text = io.StringIO(content.decode("utf-8-sig", "replace"), newline="")
    # A field may be as long as a file.
    csv.field_size_limit(1 << 30)
    lines = (r[:3] if r[3:] == [""] else r for r in csv.reader(text))
    records = [r for r in lines if r and len(r) <= 3][1:]
    padded = [[*r, *([""] * (3 - len(r)))] for r in records]
    columns = {name: [r[i] or None for r in padded] for i, name in enumerate(("sex", "region", "age"))}
    return MemorySource(domain(), columns, rows=len(padded))


Reader = Callable[[Path], Any]


def _engine(path: Path) -> DuckDBSource:
    return DuckDBSource(domain(), path)


def judged(case: Hostile, folder: Path, reader: Reader = _engine) -> str | None:
    """What is wrong with how a file was counted; None if nothing is, "refused" if it is refused at registration."""
    path = folder / "hostile.csv"
    path.write_bytes(case.content(is_hostile=True))
    try:
        source = reader(path)
        source.judge()
    except DaleniusError:
        return "refused"
    except Exception as error:
        return f"registration raised {type(error).__name__}"
    try:
        values = answers(source)
    except Exception as error:
        return f"counting raised {type(error).__name__}"
    without = answers(reference(case.content(is_hostile=False)))
    if _moved(values["count"], without["count"]) > 1 or _moved(values["rows"], without["rows"]) > 1:
        return "other rows moved"
    if _moved(values["total"], without["total"]) > 9:
        return "other values moved"
    if len(set(map(tuple, (values["values"], without["values"])))) > 1 and not _is_one_more(values, without):
        return "other values moved"
    # A line that is no record, or is none in the columns that a query reads (bytes that are no text), counts as
    # nothing.
    whole = answers(reference(case.content(is_hostile=True)))
    is_read = all(values[name] in (whole[name], without[name]) for name in values)
    return None if is_read else "readers disagree"


def _moved(one: list[int], other: list[int]) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def _is_one_more(counts: dict[str, list[int]], without: dict[str, list[int]]) -> bool:
    longer, shorter = list(counts["values"]), without["values"]
    for value in shorter:
        if value not in longer:
            return False
        longer.remove(value)
    return len(longer) <= 1


def fuzz(seed: int, files: int, folder: Path, *, reader: Reader = _engine, is_long: bool = False) -> Counted:
    """So many files, each with one hostile line."""
    chance, counted = random.Random(seed), Counted()
    for _ in range(files):
        case = hostile(chance, is_long=is_long)
        verdict = judged(case, folder, reader)
        if verdict == "refused":
            counted.refused += 1
            continue
        counted.counted += 1
        if verdict is not None:
            counted.broken.append((verdict, case))
    return counted
