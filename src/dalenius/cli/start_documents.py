"""The documents that `dalenius start` writes beside a declaration, for the person who will go on editing them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalenius.core.rationals import plain
from dalenius.spec.declared_variable import printable, toml_text


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTable:
    """What is asked for first, and what it may spend."""

    axes: Sequence[str]
    measure: str
    of: str = ""
    weight: str = ""
    spend: Fraction = Fraction(0)


def policy_text(population: str, rho: Fraction, epsilon: float, *, has_weight: bool) -> str:
    text = f"""\
# What all releases about {printable(population)} may cost together, for ever: a new version brings nothing.
population = {toml_text(population)}

[budget]
rho = {plain(rho)}       # together at most ({epsilon:.3g}, 2e-6)-differentially private
delta = 1e-6
"""
    acknowledged = """
[allow]
acknowledge = ["fixed_weights"]    # weights come from the sampling plan, not from the answers
"""
    return text + (acknowledged if has_weight else "")


def request_text(table: FirstTable, rho: Fraction) -> str:
    # The last of several variables stands in the columns.
    rows = max(len(table.axes) - 1, 1)
    more = [f"{key} = {toml_text(name)}\n" for key, name in (("of", table.of), ("weight", table.weight)) if name]
    return f"""\
# Which table is asked for, and what it may spend. `dalenius plan` says for free what it would cost.
dataset = "dataset.toml"

[table]
rows = [{", ".join(map(toml_text, table.axes[:rows]))}]
columns = [{", ".join(map(toml_text, table.axes[rows:]))}]
measure = {toml_text(table.measure)}
{"".join(more)}
[privacy]
definition = "zero_concentrated"
rho = {plain(table.spend)}       # of {plain(rho)} in all
"""


def changed(text: str, section: str, key: str, value: str) -> str:
    """A document with another text for one key of a section, its comments kept.

    >>> changed('[dataset]\\nname = "a"\\nversion = "1"    # old\\n', "dataset", "version", "2")
    '[dataset]\\nname = "a"\\nversion = "2"    # old\\n'
    """
    head, mark, rest = text.partition(f"[{section}]\n") if section else ("", "", text)
    line = re.compile(rf'^{key} = "(?:[^"\\]|\\.)*"', re.MULTILINE)
    return head + mark + line.sub(lambda _: f"{key} = {toml_text(value)}", rest, count=1)
