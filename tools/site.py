"""Hooks of the documentation site (mkdocs.yml): folders in the contents, pages from elsewhere in the repository, file names of blocks."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import library_page

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs"
SCHEMAS = ROOT / "src/dalenius/spec/schemas/1"
# Files outside of docs/ that are pages of the site.
PROJECT = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "SUPPORT.md": "support.md",
}
# Search: pages for users come before those for extenders, and those before the history of the project.
RANKS = {
    "tutorials/": 4,
    "how-to/": 4,
    "decide/": 4,
    "explanation/": 2,
    "explanation/evidence": 0.2,
    "decisions/": 0.2,
    "project/": 0.2,
}
RANKS |= {f"reference/{folder}/": 0.5 for folder in ("statistics", "measurements", "plans", "estimators", "modifiers")}

# What a list of a folder's pages says first, where no page of that folder says it.
LISTS = {
    "reference/definitions": "Privacy definitions: what a guarantee says, and about whom.",
    "reference/engines": "Where the data are kept, and what counts them.",
    "reference/inference/questions": "What can be computed from a release, one page for each question.",
    "reference/measurements": "Private steps: each reads the data once and is charged.",
    "reference/mechanisms": "Noise that can be added to a number.",
    "reference/methods": "What a request may ask for with `measure`.",
    "reference/plans/counts": "How counts are planned.",
    "reference/plans/margins/strategies": "How a budget is shared between a table and its margins.",
    "reference/postprocess": "Changes to a release that cost nothing.",
    "reference/publish": "Formats of a release.",
    "reference/statistics": "What is computed from rows before noise is added.",
    "decisions": "Why it was built in this way: one page for each decision.",
    "project": "The project itself.",
}


def on_config(config: Any) -> Any:
    """Put the pages of a folder in the place of its name."""
    config.nav = _expanded(config.nav)
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add what is made by code, and what stands beside docs/."""
    made = {f"project/{name}": _project_page((ROOT / source).read_text()) for source, name in PROJECT.items()}
    made["reference/library.md"] = library_page.made()
    made |= {f"{folder}/index.md": _list_of(folder, said, made) for folder, said in LISTS.items()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    for schema in SCHEMAS.glob("*.json"):
        files.append(File.generated(config, f"reference/schemas/{schema.name}", abs_src_path=str(schema)))
    for example in (ROOT / "examples").glob("*.*"):
        files.append(File.generated(config, f"examples/{example.name}", abs_src_path=str(example)))
    return files


def on_page_markdown(text: str, *, page: Any, **_: Any) -> str:
    """Follow links out of docs/ to the site's copies, show the name of a block that is a file, and say how search ranks the page."""
    weight = max((key for key in RANKS if page.file.src_uri.startswith(key)), key=len, default="")
    page.meta.setdefault("search", {"boost": RANKS.get(weight, 1)})
    text = re.sub(r"\]\(\.\./((?:\.\./)*)\.\./src/dalenius/spec/schemas/1/", r"](\1schemas/", text)
    text = re.sub(r"\]\(((?:\.\./)+)examples/", lambda m: f"]({m[1].removeprefix('../')}examples/", text)
    for source, name in PROJECT.items():
        text = re.sub(
            rf"\]\(((?:\.\./)+){re.escape(source)}", lambda m, n=name: f"]({m[1].removeprefix('../')}project/{n}", text
        )
    return re.sub(r"^( *```\w+) ([\w./-]+)$", r'\1 title="\2"', text, flags=re.MULTILINE)


def _project_page(text: str) -> str:
    """A page from the root of the repository, read from project/."""
    for source, name in PROJECT.items():
        text = text.replace(f"]({source}", f"]({name}")
    return re.sub(r"\]\(docs/", "](../", text)


def _expanded(nav: list[Any]) -> list[Any]:
    """The contents with every folder replaced by its pages, titles in alphabetical order."""
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/"):
            found += _pages_of(entry)
        elif isinstance(entry, dict):
            [(title, inner)] = entry.items()
            if isinstance(inner, str) and inner.endswith("/"):
                inner = _pages_of(inner)
            elif isinstance(inner, list):
                inner = _expanded(inner)
            found.append({title: inner})
        else:
            found.append(entry)
    return found


def _pages_of(folder: str) -> list[str]:
    if folder == "project/":
        return [f"{folder}index.md", *(f"{folder}{name}" for name in PROJECT.values())]
    by_name = folder in ("tutorials/", "decisions/")
    pages = [page for page in (PAGES / folder).glob("*.md") if page.name != "index.md"]
    pages.sort(key=lambda page: page.name if by_name else _title(page.read_text()).lower())
    return [f"{folder}index.md", *(f"{folder}{page.name}" for page in pages)]


def _list_of(folder: str, said: str, made: dict[str, str]) -> str:
    """A page that lists the pages of a folder with their first sentences."""
    texts = {page.name: page.read_text() for page in sorted((PAGES / folder).glob("*.md"))}
    texts |= {place.rpartition("/")[2]: text for place, text in made.items() if place.startswith(f"{folder}/")}
    title = {"project": "Project", "decisions": "Design decisions"}.get(folder, folder.rpartition("/")[2].capitalize())
    rows = [f"- [{_title(text)}]({name}): {_sentence(text)}" for name, text in texts.items()]
    return "\n".join([f"# {title}", "", said, "", *rows, ""])


def _title(text: str) -> str:
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")  # type: ignore[index]


def _sentence(text: str) -> str:
    """The first sentence after the title, without links."""
    found = re.search(r"^# .+\n+((?:[^\n#|`>*-].*\n?)+)", text, re.MULTILINE)
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(found[1].split())) if found else ""
    return re.split(r"(?<=[.!?:]) ", plain)[0].rstrip(":") if plain else ""
