"""`dalenius check [DOC]`: read a document as strictly as a release would, or judge installed extensions; no data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalenius.cli.documents import written
from dalenius.cli.output import emit, say
from dalenius.cli.plan import AsJson, PolicyPath, read
from dalenius.errors import ParameterError

if TYPE_CHECKING:
    from dalenius.spec.policy import PolicyDocument


def _kinds(incomplete: str) -> list[str]:
    from dalenius.spec.schema import kinds

    return [name for name in kinds() if name.startswith(incomplete)]


def check(
    document: Annotated[
        Path | None,
        typer.Argument(help="Dataset, request or policy document, or - for standard input.", show_default=False),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="KIND",
            help="Print the JSON Schema of a kind of document, for editors: dataset, request, batch, policy or "
            "release.",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = None,
    policy: PolicyPath = None,
    as_json: AsJson = False,
) -> None:
    """Check a document: its keys, its names, and that the file it names has the declared columns.

    Of a data file only the names and types of its columns are read. A request is checked against its dataset document.

    Without a document, the extensions of installed distributions are listed and run through the kits of their
    packages; --policy says which of them it allows.
    """
    if schema is not None:
        from dalenius.spec.schema import schema_text

        typer.echo(schema_text(schema), nl=False)
        return
    if document is None:
        _check_extensions(policy, as_json)
        return
    from dalenius.spec import load
    from dalenius.spec.batch import BatchDocument
    from dalenius.spec.dataset import DatasetDocument
    from dalenius.spec.policy import PolicyDocument
    from dalenius.spec.request import RequestDocument

    origin = written(document)
    content = read(load.load_any, origin, policy)
    kind = type(content).__name__.removesuffix("Document").lower()
    facts: dict[str, Any] = {"document": kind, "valid": True}
    if isinstance(content, DatasetDocument):
        facts |= _dataset(content)
    elif isinstance(content, RequestDocument | BatchDocument) and content.dataset:
        facts |= _request(content, origin)
    elif isinstance(content, PolicyDocument) and content.allow.extensions:
        facts["extensions"] = _named(content)
    if as_json:
        emit(facts)
        return
    say((f"A valid {kind} document.", "green"))
    if unconfirmed := facts.get("unconfirmed"):
        say(f"Not confirmed yet, so not usable: {', '.join(unconfirmed)}.")
    for name, sentence in (facts.get("derived", {}) | facts.get("extensions", {})).items():
        say((name, "bold"), f": {sentence}")


def admit(distributions: list[str]) -> None:
    """Read with the extensions of installed distributions, each written as NAME==VERSION."""
    from dalenius.core import registry

    versions = dict(text.partition("==")[::2] for text in distributions)
    allowed = registry.Allowed.of(versions, is_unvetted=True)
    offers = {(extension.distribution, extension.version) for extension in registry.installed()}
    if missing := sorted(allowed.versions - offers):
        name, version = missing[0]
        there = ", ".join(f"{name}=={version}" for name, version in sorted(offers))
        raise ParameterError(
            f"No installed distribution {name}=={version} offers extensions; those that do: {there or 'none'}."
        )
    registry.admit(allowed)


def _named(policy: "PolicyDocument") -> dict[str, str]:
    """Say of everything that distributions offer which a policy names whether it is allowed."""
    from dalenius.core import registry

    sentences = {}
    for name, version in policy.allow.extensions.items():
        offers = [e for e in registry.installed() if e.distribution == registry.canonical_name(name)]
        for extension in offers:
            reason = extension.fault or policy.extensions.refusal(extension)
            place = f"{extension.package}.{extension.name} of {extension.distribution} {extension.version}"
            sentences[place] = f"not allowed: {reason}" if reason else "allowed"
        if not offers:
            sentences[f"{name} {version}"] = "not installed here, or without extensions"
    return sentences


def _check_extensions(policy: Path | None, as_json: bool) -> None:
    """Print what installed distributions offer, whether it passes its kit, and whether a policy allows it."""
    from dalenius.core import registry
    from dalenius.spec.load import load_policy
    from dalenius.testing.extensions import run_kit

    allowed = None if policy is None else load_policy(policy).extensions
    results = []
    for extension in registry.installed():
        result = run_kit(extension)
        reason = "" if allowed is None else allowed.refusal(extension)
        results.append(result.to_dict() | ({} if allowed is None else {"is_allowed": not reason}))
        if not as_json:
            say((f"{extension.package}.{extension.name}", "bold"), f" of {extension.distribution} {extension.version}")
            say("  passes its kit" if not result.failure else (f"  not usable: {result.failure}", "red"))
            if allowed is not None:
                say(f"  not allowed by the policy: {reason}" if reason else "  allowed by the policy")
    if as_json:
        emit({"extensions": results})
    elif not results:
        say("No installed distribution offers extensions. Name a document to check it.")
    if not all(result["passes"] for result in results):
        raise typer.Exit(1)


def _dataset(document: Any) -> dict[str, Any]:
    from dalenius.curator.source import check_source
    from dalenius.spec.derived_words import derivation

    domain = document.domain()
    said = {name: derivation(variable, domain) for name, variable in domain.variables.items()}
    derived = {name: sentence for name, sentence in said.items() if sentence}
    if document.dataset.source:
        check_source(document)
    return {
        "dataset": domain.name,
        "population": domain.population,
        "variables": len(domain.variables),
        "unconfirmed": [name for name, variable in domain.variables.items() if not variable.is_confirmed],
        "source": "columns found" if document.dataset.source else "none named",
    } | ({"derived": derived} if derived else {})


def _request(document: Any, origin: Path | str) -> dict[str, Any]:
    from dalenius.curator.rules import check_weight
    from dalenius.spec import load
    from dalenius.spec.batch import form_of, members_of

    domain = load.load_dataset(load.dataset_of(document, origin)).domain()
    for member in members_of(document):
        check_weight(member, domain)
    cells = sum(form_of(member, domain).space.size for member in members_of(document))
    return {"dataset": document.dataset, "cells": cells, "digest": form_of(document, domain).digest}
