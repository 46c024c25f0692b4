"""Write the page of all keys of a request from the code: python tools/keys_page.py"""

import re
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from dalenius.core import registry
from dalenius.core.rationals import plain
from dalenius.curator.verbs import written_type
from dalenius.spec.request import PrivacyPart, TablePart

PLACE = Path(__file__).parents[1] / "docs/reference/keys.md"
HEAD = """# Keys of a request

Every key of `[table]` and `[privacy]`, made from the code by `python tools/keys_page.py`. In Python the same names are arguments of `dalenius.table`, and of the verbs of a `Curator`.
Leave a key out unless its meaning is what you want to change: each default is the best choice that is known. [Documents](documents.md#request) explains them at length.
"""
# What stands beside the budget and changes how accurate an answer is, not what is asked.
ERROR_ONLY = {
    "weights", "objective", "expected", "mechanism", "strategy", "noise", "replicates", "aggregate", "blocks", "expected_persons", "error", "in_cells_of",
    "bound_clipped",
}  # fmt: skip
WHEN = {
    "rows": "Always, unless one number is wanted.",
    "columns": "For a table of two ways; only where labels stand.",
    "layers": "For a third variable; only where labels stand.",
    "where": "Only a part of the records is meant.",
    "measure": "Something other than a number of records is wanted.",
    "of": "Needed by measures of a variable.",
    "weight": "The sample has weights, and estimates for the population are wanted.",
    "margins": "Totals of rows and columns are read too: together they are cheaper and add up.",
    "weights": "Some listed margins matter more than others.",
    "objective": "The largest error counts, or small tables as much as large ones.",
    "expected": "Relative errors count, and sizes are known from an earlier release or a public file.",
    "universe": "An axis leaves records out, and margins shall count them or not.",
    "definition": "The same amount shall be spent under another definition that the policy allows.",
    "epsilon": "One of epsilon, rho and error_at_most is needed.",
    "delta": "The definition needs it; far below one over the number of persons.",
    "rho": "One of epsilon, rho and error_at_most is needed; the best one for tables with margins.",
    "error_at_most": "The error that is wanted is known, and its price is to be found.",
    "in_table": "The accuracy of one table of a list matters.",
    "in_cells_of": "Cells are much smaller or larger than the declared size divided by their number.",
    "mechanism": "A rule prescribes the noise.",
    "strategy": "Never but to compare strategies.",
    "group": "Households or other groups shall be protected together.",
    "waves": "A series is planned, and all of its waves share one budget.",
    "noise": "The named mechanism shall have known parameters.",
    "aggregate": "Estimates of some blocks may be wild: median or winsorised.",
    "among": "Needed by a proportion and a range count.",
    "beyond": "More or fewer records shall be left out by whiskers or learned bounds.",
    "bins": "Other points of the curve are wanted; fewer points are more accurate.",
    "blocks": "No size is declared, or a function of your own is run.",
    "bound_clipped": "Intervals shall hold for the mean of values that are not clipped.",
    "bounds": "Needed by propose-test-release.",
    "clamp": "One count at the actual data shall lie within what is possible.",
    "clip": "Needed where persons are clipped, and between which numbers a parameter lies; with learn the candidates.",
    "common_weight": "Weights shall be drawn to another one than the middle.",
    "correction": "The usual correction of a model is known to fail.",
    "declared": "A total of the observed rows shall protect values that nobody in the data has.",
    "error": "Only the population at hand is meant (noise), or two moments do not do (bootstrap).",
    "estimate": "Propose-test-release shall estimate something other than the median.",
    "expected_persons": "Public numbers say how much persons add, to choose a bound without a price.",
    "function": "The custodian's own program runs a model that is not listed.",
    "keyed": "The same list shall come out the same without being stored.",
    "learn": "Declared bounds are far wider than the values.",
    "membership": "Everybody knows who is in which cell, and the policy says so.",
    "method": "A cell or a quantile is enough without an interval; for extremes it is needed.",
    "model": "Needed by families of distributions and sample-and-aggregate.",
    "most": "One person has several texts that matter.",
    "norm": "Persons add to many cells: l2 clips them less for the same noise under rho.",
    "other": "Needed by measures of two variables.",
    "per": "A rate per hundred or thousand is wanted.",
    "predictors": "Needed by a logistic regression.",
    "q": "Other quantiles than the quartiles or the median are wanted.",
    "ranges": "Sums over ranges of an ordered axis are read, not single cells.",
    "refine": "A list is long, and detail matters in large groups only.",
    "regularise": "Weights differ much, and a little bias is better than their noise.",
    "replicates": "More replicates make the interval of a bootstrap more exact, and its noise larger.",
    "rule": "Dominance is judged by another rule than 10 per cent.",
    "sample": "Records shall be drawn by chance, and the budget is very small.",
    "seconds": "A function of your own takes longer than a second for a block.",
    "which": "The smallest total is looked for.",
}  # fmt: skip


def page() -> str:
    shared = [(name, field) for name, field in TablePart.model_fields.items() if name != "keys"]
    own: dict[str, list[tuple[str, FieldInfo]]] = {}
    for measure, method in registry.own("methods").items():
        for name, field in method.Parameters.model_fields.items():
            own.setdefault(name, []).append((measure, field))
    parts = [
        "## `[table]`, every measure\n\n" + _table([_row(name, field) for name, field in shared]),
        "## `[privacy]`\n\n" + _table([_row(*pair) for pair in PrivacyPart.model_fields.items()]),
        "## `[table]`, single measures\n\n"
        + _table([_row(name, takers[0][1], _measures(takers)) for name, takers in sorted(own.items())]),
    ]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


def _measures(takers: list[tuple[str, FieldInfo]]) -> str:
    names = [f"[{name}](methods/{name}.md)" for name, _ in takers]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _table(rows: list[list[str]]) -> str:
    heads = ["key", "type", "default", "changes", "meaning", "when to change it"]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def _row(name: str, field: FieldInfo, measures: str = "") -> list[str]:
    kind = _kind(str(written_type(field.annotation)))
    changes = "error" if name in ERROR_ONLY else "question"
    meaning = (field.description or "").replace("|", "\\|")
    return [f"`{name}`", kind, _default(field), changes, f"{meaning} {measures}".strip(), WHEN[name]]


def _kind(written: str) -> str:
    """A type in the words of a document."""
    words = {"Amount": "number", "str": "text"}
    written = written.replace("Mapping[str, Any]", "table")
    for name, word in words.items():
        written = re.sub(rf"\b{name}\b", word, written)
    written = re.sub(r"Literal\[(.*?)\]", lambda found: found[1].replace(", ", " | "), written)
    written = written.replace("Sequence[", "list of [").replace("Mapping[", "table of [")
    return written.replace(" | None", "").replace(" | ", " or ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value: Any = field.get_default(call_default_factory=True)
    if value in (None, "", (), {}):
        return ""
    return f"`{plain(value)}`" if hasattr(value, "numerator") and not isinstance(value, bool) else f"`{value!r}`"


if __name__ == "__main__":
    PLACE.write_text(page())
