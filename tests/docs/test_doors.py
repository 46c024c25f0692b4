"""Whatever can be asked is asked by a command of a page, which `test_pages.py` runs: verbs, measures, guarantees, kinds of noise."""

import re
from collections.abc import Iterator

import click
import typer
from tests.docs.test_pages import BLOCKS

from dalenius.cli.main import app
from dalenius.core import registry
from dalenius.spec.noise import kinds_of_noise

SHELL = "\n".join(b.text for blocks in BLOCKS.values() for b in blocks if b.language == "sh")
# Run by `make demo`, which every page begins with; and a verb that prints one line.
ELSEWHERE = {"demo", "version"}


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from verbs(below, (*path, name))


def released() -> str:
    """The documents of pages that a command of the same page releases, plans, inspects or shows."""
    used = []
    for blocks in BLOCKS.values():
        commands = "\n".join(b.text for b in blocks if b.language == "sh")
        names = set(re.findall(r"[\w./-]+\.toml|(?<=[ /])\w+(?= |;)", commands))
        used += [
            b.text for b in blocks if b.language == "toml" and b.file and names & {b.file, b.file.removesuffix(".toml")}
        ]
    return "\n".join(used)


def test_every_verb_stands_in_a_command_of_a_page() -> None:
    missing = [
        verb
        for verb in verbs(typer.main.get_command(app))
        if verb not in ELSEWHERE and not re.search(rf"dalenius {verb}\b", SHELL)
    ]
    assert not missing


def test_every_measure_guarantee_and_kind_of_noise_is_asked_for_by_a_command_of_a_page() -> None:
    documents, missing = released(), []
    for key, names in (
        ("measure", set(registry.names("methods")) - {"count"}),
        ("definition", registry.names("definitions")),
        ("mechanism", set(kinds_of_noise())),
    ):
        looped = re.findall(rf"for {key} in ([\w ]+);", SHELL)
        asked = set(re.findall(rf'^{key} = "(\w+)"', documents, re.MULTILINE)) | set(" ".join(looped).split())
        missing += [f"{key} {name}" for name in sorted(set(names) - asked)]
    assert not missing
