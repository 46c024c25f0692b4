"""Pictures of the lessons, made of the very requests that stand on their pages: `python tools/lesson_pictures.py` writes docs/images."""

import os
import re
import sys
import tempfile
from pathlib import Path

import dalenius
from dalenius.demo import survey

PAGES = Path(__file__).parents[1] / "docs"
# Picture, and the request of the lesson that it shows.
PICTURES = {
    "lesson-1": ("1-first-table", "status.toml"),
    "lesson-2": ("2-a-geography", "states.toml"),
    "lesson-3-mean": ("3-means-and-medians", "mean.toml"),
    "lesson-3-median": ("3-means-and-medians", "median.toml"),
    "lesson-4": ("4-weights-and-waves", "income-2023.toml"),
}


def requests_of(page: str) -> dict[str, str]:
    """Documents of a page by their names."""
    return dict(re.findall(r"^```toml (\S+)\n(.*?)^```", (PAGES / "tutorials" / f"{page}.md").read_text(), re.M | re.S))


def main(out: Path) -> None:
    """Make the survey, release what each lesson releases, and draw it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        document = survey.materialise("dalenius-survey")[0]
        with dalenius.Curator.open(document) as curator:
            curator.register(by="pictures")
            for name, (page, request) in PICTURES.items():
                Path(request).write_text(requests_of(page)[request])
                curator.release(request).plot(out / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PAGES / "images")
