"""The page of evidence, made from kept results: every figure with the command, the source and the day of its run.

The source is named by its tree (`git rev-parse HEAD:src`), not by a commit: the same source has the same tree whatever history
it is given later, so that what the page names can be found in the history that a reader has.
"""

import ast
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "verify" / "results"
PAGE = ROOT / "docs" / "explanation" / "evidence.md"
BEGINNING = """# Evidence

This page is generated: `python -m verify NAME --save` runs a check and keeps its result, `python -m verify --page` writes what
was kept. A check that does not hold is shown as such. What each check claims stands at the head of its module in `verify/`.
The source of a run is named by its tree: `git log --format=%h | while read c; do echo $c $(git rev-parse $c:src); done` says which
commits hold it. One that no commit holds was that of a branch before others were joined with it. What the figures mean for users
is said in [how well it works](measured.md).
"""
PLAYED = """## The same noise on two neighbours

`tests/redteam/test_record_and_play.py` answers requests over the whole grammar twice with one recorded stream, on two
neighbouring data sets. Steps, portions of random bytes, stages, log lines, refusals and the shapes of what is released are
the same. The exceptions are selections of quantiles and bounds (`grid_selection`), which draw an integer below a sum of weights that follow the data, and what draws for each record or each
distinct value (secret samples, blocks, bootstrap replicates, lists of labels): there the number of bytes, and the time, can differ. A
server therefore answers on a tick. Whether a proposed bound passes its test, and which labels are listed, may differ as well; their
prices cover that.
"""


def origin() -> dict[str, Any]:
    """The code as it stands: to be asked before a check begins, because it may be another when the check ends."""
    changes = _git("status", "--porcelain", "--", "src", "verify", ":!verify/results")
    return {"source": _git("rev-parse", "--short=12", "HEAD:src"), "has_uncommitted_changes": bool(changes)}


def keep(name: str, result: dict[str, Any], run: dict[str, Any], *, quick: bool) -> None:
    """Write one result with where it comes from and what it took."""
    RESULTS.mkdir(exist_ok=True)
    document = {
        "check": name,
        "command": f"python -m verify {name}" + (" --quick" if quick else ""),
        **run,
        "date": datetime.now(UTC).date().isoformat(),
        "result": result,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2, default=str) + "\n")


def processor_seconds() -> dict[str, float]:
    """What each kept run took."""
    documents = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    return {document["check"]: document["processor_seconds"] for document in documents}


def page() -> str:
    """The whole page."""
    kept = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    parts = [BEGINNING, *(_section(document) for document in kept), PLAYED, _traps()]
    return "\n".join(parts)


def write_page() -> None:
    """Make the page anew."""
    PAGE.write_text(page())


def _section(document: dict[str, Any]) -> str:
    verdict = "held" if document["result"].get("ok") else "**did not hold**"
    state = ", with uncommitted changes" if document["has_uncommitted_changes"] else ""
    took = f"{document['processor_seconds']:.0f} s of processor time"
    lines = [
        f"## {document['check'].replace('_', ' ').capitalize()}",
        "",
        f"`{document['command']}` on source `{document['source']}`{state}, {document['date']}, {took}: {verdict}.",
        "",
    ]
    lines += _listed({k: v for k, v in document["result"].items() if k != "ok"}, 0)
    return "\n".join([*lines, ""])


def _listed(content: Any, depth: int) -> list[str]:
    """Nested results as nested lists."""
    margin, lines = "  " * depth, []
    items = content.items() if isinstance(content, dict) else enumerate(content, 1)
    for key, value in items:
        name = str(key).replace("_", " ")
        if _is_table(value):
            lines += [f"{margin}- {name}:", "", *_tabled(value, margin + "  "), ""]
        elif isinstance(value, dict | list) and value:
            lines += [f"{margin}- {name}:", *_listed(value, depth + 1)]
        else:
            lines.append(f"{margin}- {name}: {_plain(value)}")
    return lines


def _is_table(value: Any) -> bool:
    """Whether rows have the same columns, and nothing below them."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(isinstance(row, dict) and row.keys() == value[0].keys() for row in value)
        and not any(isinstance(entry, dict | list) for row in value for entry in row.values())
    )


def _tabled(rows: list[dict[str, Any]], margin: str) -> list[str]:
    names = [str(name).replace("_", " ") for name in rows[0]]
    lines = [names, ["---"] * len(names), *([_plain(entry) for entry in row.values()] for row in rows)]
    return [f"{margin}| {' | '.join(line)} |" for line in lines]


def _plain(value: Any) -> str:
    if isinstance(value, dict | list):
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else f"`{value}`" if isinstance(value, str) else str(value)


def _traps() -> str:
    """Ways to lose a guarantee by accident, with the tests that would notice; the table of `tests/redteam/test_traps.py`."""
    tree = ast.parse((ROOT / "tests" / "redteam" / "test_traps.py").read_text())
    table, unguarded = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in ("TRAPS", "OPEN") and node.value
    )
    lines = ["## Ways to lose a guarantee by accident", "", "| | what must hold | tests |", "|---|---|---|"]
    for number, (name, tests) in table.items():
        lines.append(f"| {number} | {name} | {'<br>'.join(f'`{test}`' for test in tests)} |")
    lines += [f"| {number} | {name} | **none yet** |" for number, name in unguarded.items()]
    return "\n".join([*lines, ""])


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
