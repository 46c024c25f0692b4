"""Words of a dataset document in another language: its title, and the names of variables, levels, categories and
groups.

A translation is for readers only. Requests, releases and digests use the document's own words, so a translation can be
added or mended at any time without a new version of the data.
"""

from collections.abc import Mapping
from typing import ClassVar

from dalenius.core.domain import Variable
from dalenius.errors import DocumentError, UnknownName
from dalenius.spec.document import Name, Part, Text, usual


class TranslationPart(Part):
    """[translations.LANGUAGE]: the document's words = words of that language; what is left out keeps its own."""

    section: ClassVar[str] = "[translations.…]"

    title: Text = ""
    variables: dict[Name, Text] = usual(dict, "Labels of variables.")
    levels: dict[Name, Text] = usual(dict, "Names of levels of hierarchies.")
    labels: dict[Name, dict[Name, Text]] = usual(
        dict, "For each variable, its categories and the groups of its levels."
    )

    def check(self, variables: Mapping[str, Variable]) -> None:
        """Refuse words that translate nothing, and two categories of one name."""
        levels = {h.level for variable in variables.values() for h in variable.hierarchies}
        for level in self.levels:
            if level not in levels:
                raise UnknownName.among("level", level, levels)
        for name in (*self.variables, *self.labels):
            if name not in variables:
                raise UnknownName.among("variable", name, variables)
        for name, words in self.labels.items():
            lists = _lists(variables[name])
            declared_labels = {label for labels in lists for label in labels}
            for label in words:
                if label not in declared_labels:
                    raise UnknownName.among(f"category or group of {name!r}", label, declared_labels)
            for labels in lists:
                said = [words.get(label, label) for label in labels]
                if len(set(said)) < len(said):
                    raise DocumentError(f"A translation gives two categories of {name!r} the same name.")


def _lists(variable: Variable) -> list[tuple[str, ...]]:
    """Lists of labels that can stand on one axis: the categories, and the groups of each level."""
    categories = [] if variable.is_numeric else [variable.categories.labels]
    return [*categories, *(hierarchy.groups for hierarchy in variable.hierarchies)]
