"""Records what every request is answered, or compares today's answers with the record.

    python tests/vectors/answers/make_answers.py              record anew: answers.jsonl.gz (the questions are drawn again)
    python tests/vectors/answers/make_answers.py --again      record anew the answers to the questions of the file
    python tests/vectors/answers/make_answers.py --compare    list what differs; exit code 1 if something is worse, lost or other
    python tests/vectors/answers/make_answers.py --table      old and new costs, margins and intervals of what differs, in Markdown

`--only "mean*"` takes the cases with such names, `--sample` those that are compared in every test run, `--words` lists changed words
too. Differences that are meant stand in allowed.toml, words that were changed in answer_words.py. Fields under `/drawn` move with the
order in which noise is drawn, those under `/still` do not.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from math import isnan
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import answer_compare as compare
from answer_compare import Difference
from answer_record import FILE, Case, Office, read, written
from answer_words import turned_back

SAMPLE, QUICK, SLOW = 60, 0.12, 1.0


@contextmanager
def office(head: dict[str, Any]) -> Iterator[Office]:
    """An office on a disk of memory where there is one: nothing of it is kept."""
    memory = Path("/dev/shm")
    temporary = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with temporary as folder, Office(head, Path(folder)) as one:
        yield one


def record() -> None:
    """Write the file: questions and answers."""
    from answer_places import head as places
    from answer_questions import cases as questions

    head = places()
    with office(head) as one:
        cases = questions(one.plans)
        seconds = [_answer(one, case) for case in cases]
    _mark(cases, seconds)
    _write(head, cases)


def record_again(*, only: str, is_sample: bool) -> None:
    """Write today's answers to questions of the file, of today's data sets; what was not chosen stays."""
    from answer_places import head as places

    head, (_, cases) = places(), read()
    with office(head) as one:
        for case in cases:
            if _is_chosen(case, only, is_sample=is_sample):
                _answer(one, case)
    _write(head, cases)


def _answer(one: Office, case: Case) -> float:
    """Put the answer into the case; the processor time that it took."""
    begun = time.process_time()
    case["answer"] = one.answered(case)
    took = time.process_time() - begun
    if took > SLOW:
        print(f"{took:.1f} CPU s: {case['name']}", flush=True)
    return took


def _write(head: dict[str, Any], cases: list[Case]) -> None:
    FILE.write_bytes(written(head, cases))
    kinds = Counter(case["answer"].get("refused", "answered") for case in cases)
    print(f"{len(cases)} cases, {FILE.stat().st_size} bytes: {dict(kinds)}")


def _is_chosen(case: Case, only: str, *, is_sample: bool) -> bool:
    return fnmatchcase(case["name"], only) and (not is_sample or bool(case.get("is_sampled")))


def _mark(cases: list[Case], seconds: list[float]) -> None:
    """Mark those that are compared in every test run: quick ones of few data sets, of as many measures as there are."""
    places = Counter(case["place"] for case in cases).most_common(6)
    quick = [
        case
        for case, took in zip(cases, seconds, strict=True)
        if took < QUICK and case["place"] in dict(places) and "refused" not in case["answer"]
    ]
    by_measure: dict[str, list[Case]] = {}
    for case in quick:
        table = case["request"]["table"]
        measure = "batch" if isinstance(table, list) else str(table.get("measure", "count"))
        by_measure.setdefault(f"{measure} {'margins' in table}", []).append(case)
    left = SAMPLE
    while left > 0 and by_measure:
        for measure in list(by_measure):
            found = by_measure[measure]
            found.pop(len(found) // 2)["is_sampled"] = True
            left -= 1
            if not found:
                del by_measure[measure]


def found(*, only: str = "*", is_sample: bool = False) -> Iterator[tuple[Case, dict[str, Any], list[Difference]]]:
    """Each chosen case with today's answer and what differs."""
    head, cases = read()
    with office(head) as one:
        for case in cases:
            if not _is_chosen(case, only, is_sample=is_sample):
                continue
            answer = turned_back(one.answered(case))
            yield case, answer, compare.differences(case["name"], case["answer"], answer)


def main() -> int:
    """One of the four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--again", "--compare", "--table", "--sample", "--words"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only", default="*")
    told = parser.parse_args()
    if told.again:
        record_again(only=told.only, is_sample=told.sample)
        return 0
    if not (told.compare or told.table):
        record()
        return 0
    entries, counts, rows = compare.allowed(), Counter[str](), []
    for case, answer, differing in found(only=told.only, is_sample=told.sample):
        counts["cases"] += 1
        for one in differing:
            is_meant = compare.is_allowed(entries, case, one)
            counts[f"{one.kind}, allowed" if is_meant else one.kind] += 1
            if told.compare and (told.words or one.kind != compare.WORDS):
                print(f"{'      ' if is_meant else 'FAULT '}{one}", flush=True)
        if any(one.kind != compare.WORDS for one in differing):
            rows.append((case, answer))
    if told.table:
        print(table(rows))
    print(", ".join(f"{kind}: {number}" for kind, number in sorted(counts.items())), file=sys.stderr)
    return int(any(counts[kind] for kind in (compare.WORSE, compare.BETTER, compare.OTHER, compare.LOST)))


def table(rows: list[tuple[Case, dict[str, Any]]]) -> str:
    """Old and new figures of cases that differ, side by side."""
    lines = ["| request | rho | margin planned | widest interval: noise | with sampling |", "|---|---|---|---|---|"]
    for case, answer in rows:
        cells = [_side(case["answer"], answer, figure) for figure in (_rho, _margin, _widest, _widest_sampled)]
        lines.append(f"| {case['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _side(old: dict[str, Any], new: dict[str, Any], figure: Any) -> str:
    was, made = (None if "refused" in part else figure(part) for part in (old, new))
    if was is None and made is None:
        return "-"
    ratio = f" (x {made / was:.3g})" if was and made else ""
    words = ["-" if value is None else f"{value:.5g}" for value in (was, made)]
    return words[0] if words[0] == words[1] else f"{words[0]} -> {words[1]}{ratio}"


def _rho(answer: dict[str, Any]) -> float | None:
    return compare._number(answer["plan"]["cost"].get("rho"))


def _margin(answer: dict[str, Any]) -> float | None:
    value = compare._number(answer["plan"]["margin"])
    return None if value is None or isnan(value) else value


def _widest(answer: dict[str, Any], sampled: str = "") -> float | None:
    halves = [
        (high - low) / 2
        for part in answer["still"]
        for one in part["tables"][:1]
        for low, high in zip(one.get(f"lower{sampled}", ()), one.get(f"upper{sampled}", ()), strict=True)
        if isinstance(low, int | float) and isinstance(high, int | float)
    ]
    return max(halves, default=None)


def _widest_sampled(answer: dict[str, Any]) -> float | None:
    return _widest(answer, "_with_sampling")


if __name__ == "__main__":
    sys.exit(main())
