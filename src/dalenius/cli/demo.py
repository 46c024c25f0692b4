"""`dalenius demo`: the US military 2010 full count, or a synthetic survey, from microdata to protected tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dalenius.cli.output import emit, say, stages
from dalenius.cli.plan import AsJson

if TYPE_CHECKING:
    from dalenius.core.release import Release


def demo(
    directory: Annotated[
        Path | None, Option("-o", "--output", help="Where the demo lives: dalenius-demo, or dalenius-survey.")
    ] = None,
    survey: Annotated[
        bool, Option("--survey", help="The synthetic survey instead: numbers, regions, weights, two waves.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release grade x branch x gender of 1.4 million persons at epsilon 1, and show how far off it is.

    The data are public, so the demo may print the truth beside the release. A real custodian must not. With --survey
    the demo writes both waves of a synthetic survey with their documents, registers them, and releases every example
    request.
    """
    if survey:
        release_survey(directory or Path("dalenius-survey"), as_json=as_json)
    else:
        release_count(directory or Path("dalenius-demo"), as_json=as_json)


def release_count(directory: Path, *, as_json: bool) -> None:
    from dalenius.cli.tables import print_release
    from dalenius.curator.curator import Curator
    from dalenius.demo import population
    from dalenius.publish import save

    with stages(quiet=as_json) as stage:
        stage("expanding the shipped counts to persons")
        population.materialise(directory)
        dataset, request = directory / "dataset.toml", directory / "request.toml"
        ledger = directory / "ledger.sqlite"
        with Curator.open(dataset, ledger=ledger, policy=directory / "policy.toml") as curator:
            stage("registering")
            curator.register(by="demo custodian")
            preview = curator.plan(request).preview
            release = curator.release(request, stage=stage)
    out = directory / "release"
    save(release, out)
    report = compare(release)
    if as_json:
        emit({"directory": str(directory), "preview": dict(preview), **report})
        return
    print_release(release)
    errors = (
        f" Largest error {report['largest_error']}, mean absolute error {report['mean_absolute_error']:.2f};"
        f" {report['covered']:.1%} of the {report['cells']} cells with noise lie inside their 95 % interval."
    )
    warning = (
        "This comparison reads the truth from the counts that ship with the demo, because they are public."
        " A real custodian must not print it.\n"
    )
    say("\n", ("How far off?", "bold"), errors)
    say((warning, "dim"))
    _say_next(
        out,
        ": open table.html in a browser.",
        f"dalenius plan {request}",
        f"dalenius release {request} -o {out}",
        f"dalenius infer independence {out} -a branch -a gender",
        f"dalenius ledger show --ledger {ledger}",
        "make serve    # the table builder in the browser",
    )


def _say_next(place: Path, about: str, *commands: str) -> None:
    say("Written to ", (str(place), "bold"), about)
    say("Try next ", ("(source .venv/bin/activate)", "dim"), ":")
    for command in commands:
        say(f"  {command}", soft_wrap=True)


def compare(release: "Release") -> dict[str, object]:
    """Released against public truth: errors and coverage of the cells that got noise, from the shipped counts."""
    import numpy as np

    from dalenius.demo import population

    truth = population.truth(*(axis.variable for axis in release.table.space.axes))
    lower, upper = release.interval(0.95)
    perturbed = np.ones(truth.shape, dtype=bool)
    perturbed.flat[list(release.table.space.structural_indices)] = False
    error = np.abs(release.values - truth)[perturbed]
    return {
        "cells": int(perturbed.sum()),
        "largest_error": int(error.max()),
        "mean_absolute_error": float(error.mean()),
        "covered": float(((lower <= truth) & (truth <= upper))[perturbed].mean()),
    }


def release_survey(directory: Path, *, as_json: bool) -> None:
    """The synthetic survey: both waves in one ledger, and every example request released into a folder of its own."""
    from dalenius.cli.tables import print_release
    from dalenius.curator.curator import Curator
    from dalenius.demo import farms, survey
    from dalenius.publish import save
    from dalenius.spec.load import load_request

    ledger, policy = directory / "ledger.sqlite", directory / survey.POLICY
    rules = {directory / farms.DATASET: directory / farms.POLICY}
    releases = {}
    with stages(quiet=as_json) as stage:
        stage("making the rows from their seed")
        for document in (*survey.materialise(directory), farms.materialise(directory)):
            stage(f"registering {document.stem}")
            with Curator.open(document, ledger=ledger, policy=rules.get(document, policy)) as curator:
                curator.register(by="demo custodian")
        for name in survey.REQUESTS:
            stage(f"releasing {name}")
            request = directory / f"{name}.toml"
            dataset = directory / load_request(request).dataset
            with Curator.open(dataset, ledger=ledger, policy=policy) as curator:
                releases[name] = curator.release(request)
            save(releases[name], directory / "releases" / name)
    if as_json:
        entries = {name: release.provenance.ledger_entry for name, release in releases.items()}
        emit({"directory": str(directory), "releases": entries})
        return
    print_release(releases[survey.REQUESTS[0]])
    say("\nThe survey is synthetic: its rows were made from a seed, and nobody in it exists.")
    _say_next(
        directory,
        f": two waves, policy, {len(releases)} requests, regions.geojson, releases/, and farms.toml, a small "
        "file with one row a unit.",
        f"dalenius show {directory / 'releases' / 'income'}",
        f"dalenius plan {directory / 'margins.toml'}",
        f"dalenius ledger show --ledger {ledger} --population survey-panel",
    )
