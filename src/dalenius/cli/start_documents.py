"""The three documents that `dalenius start` writes, commented for the person who will go on editing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dalenius.core.rationals import plain
from dalenius.curator.drafting import toml_key, toml_text

ROWS, LIST, TYPED = "read from the rows and confirmed", "from {place}", "as you typed it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What one variable may hold: categories (label by code), or bounds with a step; `origin` says who knows."""

    name: str
    origin: str
    categories: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction = Fraction(1)
    has_missing: bool = False

    @property
    def words(self) -> str:
        """What a person is asked to confirm."""
        if self.bounds is not None:
            low, high = map(plain, self.bounds)
            return f"numbers from {low} to {high} in steps of {plain(self.step)}"
        labels = [code if code == label else f"{code} = {label}" for code, label in self.categories.items()]
        shown = ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")
        return f"{len(labels)} categor{'y' if len(labels) == 1 else 'ies'}: {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    name: str
    source: str
    population: str
    unit: str
    unit_id: str
    max_rows: int
    draws: str
    variables: tuple[Declared, ...]
    rho: Fraction
    axes: tuple[str, ...]
    measure: str
    of: str
    spend: Fraction


def dataset_text(answers: Answers) -> str:
    lines = [
        "# What the microdata may hold. Tables are made from this page, never from what happens to be in the rows.",
        "",
        "[dataset]",
        f"name = {toml_text(answers.name)}",
        f"population = {toml_text(answers.population)}    # owns the budget; another file on the same units names "
        "the same",
        'version = "1"                # a corrected file is a new version, and brings no budget',
        f"source = {toml_text(answers.source)}",
        'ledger = "ledger.sqlite"     # what was spent; back it up',
        'policy = "policy.toml"       # what may be spent',
        "",
        "[unit]",
        f"name = {toml_text(answers.unit)}",
        'relation = "add-remove"      # whether this one is in the data at all is protected',
    ]
    if answers.unit_id:
        lines += [
            f"id = {toml_text(answers.unit_id)}",
            f"max_rows = {answers.max_rows}    # of one {_plain(answers.unit)}; further rows are left out",
        ]
    if answers.draws:
        lines += [
            "",
            "[design]",
            f"draws = {toml_text(answers.draws)}    # how they were drawn: errors of sampling rest on it",
        ]
    for variable in answers.variables:
        lines += ["", *_variable(variable)]
    return "\n".join(lines) + "\n"


def _variable(variable: Declared) -> list[str]:
    lines = [
        f"[variables.{toml_key(variable.name)}]    # {_plain(variable.origin)}",
        f"label = {toml_text(variable.name)}",
    ]
    if variable.has_missing:
        lines.append("# Rows without a value leave every table that uses it; missing = … names a category for them.")
    if variable.bounds is not None:
        low, high = map(plain, variable.bounds)
        return [
            *lines,
            f"bounds = [{low}, {high}]    # narrower bounds need less noise",
            f"step = {plain(variable.step)}",
        ]
    pairs = variable.categories.items()
    if all(code == label for code, label in pairs):
        return [*lines, f"categories = [{', '.join(toml_text(code) for code, _ in pairs)}]"]
    listed = [f"{toml_text(code)} = {toml_text(label)}" for code, label in pairs]
    return [
        *lines,
        f"[variables.{toml_key(variable.name)}.categories]    # what the file holds = what readers see",
        *listed,
    ]


def policy_text(answers: Answers, epsilon: float) -> str:
    return f"""\
# What all releases about {_plain(answers.population)} may cost together, for ever: a new version brings nothing.
population = {toml_text(answers.population)}

[budget]
rho = {plain(answers.rho)}       # together at most ({epsilon:.3g}, 2e-6)-differentially private
delta = 1e-6
"""


def request_text(answers: Answers) -> str:
    # The last of several variables stands in the columns.
    rows = max(len(answers.axes) - 1, 1)
    of = f"of = {toml_text(answers.of)}\n" if answers.of else ""
    return f"""\
# Which table is asked for, and what it may spend. `dalenius plan` says for free what it would cost.
dataset = "dataset.toml"

[table]
rows = [{", ".join(map(toml_text, answers.axes[:rows]))}]
columns = [{", ".join(map(toml_text, answers.axes[rows:]))}]
measure = {toml_text(answers.measure)}
{of}
[privacy]
definition = "zero_concentrated"
rho = {plain(answers.spend)}       # of {plain(answers.rho)} in all
"""


def _plain(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)
