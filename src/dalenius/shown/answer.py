"""A release as readers of one language see it: every answer under the name that its method gives it."""

from dalenius.core.release import Release
from dalenius.shown.answers import labelled
from dalenius.shown.speech import DEFAULT, measured, method_of


def as_read(release: Release, language: str = DEFAULT) -> Release:
    """The release with the labels of its answers in words; itself where they are as asked for."""
    if release.members:
        return release.with_members([as_read(member, language) for member in release.members])
    return labelled(release, lambda table: measured(release.about, language, method_of(release, table)))
