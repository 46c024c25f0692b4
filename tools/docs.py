"""`make docs`: every page under docs/, and one of the public names, as HTML in build/docs, with contents and search; a dead link fails the build."""

import json
import re
import shutil
import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

sys.path.insert(0, str(Path(__file__).parent))
import library_page

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs"
SCHEMAS = ROOT / "src/dalenius/spec/schemas/1"
OUT = ROOT / "build" / "docs"
LIBRARY = PAGES / "reference" / "library.md"
SECTIONS = ("tutorials", "how-to", "explanation", "reference", "decisions")
# Pages that stand beside docs/ and belong to the site.
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
STYLE = """
body{font:16px/1.6 system-ui,sans-serif;color:#1b2733;margin:0;display:grid;grid-template-columns:18rem 1fr}
nav{background:#f3f6f9;padding:1.5rem;font-size:.92rem;min-height:100vh}nav h2{font-size:.8rem;text-transform:uppercase;color:#5b6b7b}
nav ul{list-style:none;padding:0;margin:0 0 1rem}main{max-width:48rem;padding:2rem 3rem}a{color:#1f5f8b}
.file{font:.85rem ui-monospace,monospace;color:#5b6b7b;margin:1rem 0 -.8rem}
pre{background:#f3f6f9;padding:1rem;overflow:auto;border-radius:6px}code{font-size:.92em}
table{border-collapse:collapse}th,td{border-bottom:1px solid #d9e0e7;padding:.3rem .7rem;text-align:left;vertical-align:top}img{max-width:100%}
#search{width:100%;box-sizing:border-box;padding:.4rem;margin:.8rem 0}#results{font-size:.9rem}#results small{color:#5b6b7b}
"""


def title_of(text: str, path: Path) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found.group(1) if found else path.stem


def contents(pages: dict[Path, str], here: Path) -> str:
    """Links to every page, relative to the one they stand on."""
    depth = "../" * (len(here.relative_to(PAGES).parts) - 1)
    blocks = []
    for section in SECTIONS:
        inside = [p for p in sorted(pages) if p.relative_to(PAGES).parts[0] == section]
        links = "".join(
            f'<li><a href="{depth}{p.relative_to(PAGES).with_suffix(".html")}">{escape(title_of(pages[p], p))}</a></li>'
            for p in inside
        )
        blocks.append(f'<h2 id="all-{section}">{section}</h2><ul>{links}</ul>')
    search = (
        '<input id="search" type="search" placeholder="Search" aria-label="Search all pages"><ul id="results"></ul>'
    )
    script = f'<script>const ROOT="{depth}"</script><script src="{depth}pages.js"></script><script src="{depth}search.js" defer></script>'
    return f'<a href="{depth}index.html"><strong>Dalenius</strong></a>{search}{"".join(blocks)}{script}'


def index_of(pages: dict[Path, str]) -> str:
    """Title, address and words of every page, as the script that search reads."""
    entries = [
        {
            "title": title_of(text, path),
            "address": path.relative_to(PAGES).with_suffix(".html").as_posix(),
            "text": " ".join(re.sub(r"[`#|*\[\]]|```\w*|\(\S+\.\w+\)", " ", text).split()),
        }
        for path, text in pages.items()
    ]
    # "</script>" in a page must not end the script.
    return f"const PAGES={json.dumps(entries, ensure_ascii=False)};".replace("</", "<\\/")


def rendered(parser: MarkdownIt, text: str) -> str:
    """A page's HTML: headings can be linked to, and a block that is a file says its name."""
    tokens, slugs = parser.parse(text), dict[str, int]()
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and inner is not None:
            slug = re.sub(r"[^\w\- ]", "", inner.content.lower()).strip().replace(" ", "-")
            slugs[slug] = slugs.get(slug, -1) + 1
            token.attrSet("id", slug if not slugs[slug] else f"{slug}-{slugs[slug]}")
    html = parser.renderer.render(tokens, parser.options, {})
    names = [token.info.partition(" ")[2].strip() for token in tokens if token.type == "fence"]
    parts = re.split(r"(?=<pre><code)", html)
    if len(parts) - 1 == len(names):
        named = (
            f'<p class="file">{escape(n)}</p>{part}' if n else part for n, part in zip(names, parts[1:], strict=True)
        )
        html = parts[0] + "".join(named)
    return re.sub(r'href="([^":#]+)\.md', r'href="\1.html', html)


def dead_links(out: Path) -> list[str]:
    """Links of built pages to a file or a heading that is not there."""
    texts = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html")}
    dead = []
    for path, text in texts.items():
        for target, _, heading in (link.partition("#") for link in re.findall(r'(?:href|src)="([^"]+)"', text)):
            if ":" in target:
                continue
            place = (path.parent / target).resolve() if target else path
            is_there = place.is_file() and (not heading or f'id="{heading}"' in texts.get(place, ""))
            if not is_there:
                dead.append(f"{path.relative_to(out)}: {target}{'#' if heading else ''}{heading}")
    return dead


def front(text: str) -> str:
    """The front page as the site links it: folders become lists of the contents."""
    text = re.sub(r"\]\(docs/([\w-]+)\)", r"](#all-\1)", text).replace("](examples)", "](examples/notebook.py)")
    return text.replace("](docs/", "](")


def linked(text: str) -> str:
    """A page whose links to schemas lead to the site's copy."""
    return re.sub(r"\]\(\.\./((?:\.\./)*)\.\./src/dalenius/spec/schemas/1/", r"](\1schemas/", text)


def main(out: Path = OUT) -> int:
    """Build all pages; the exit code counts dead links."""
    parser = MarkdownIt("commonmark").enable("table")
    pages = {p: linked(p.read_text()) for p in sorted(PAGES.rglob("*.md"))} | {LIBRARY: library_page.made()}
    shutil.rmtree(out, ignore_errors=True)
    for source, folder in (
        (PAGES / "images", "images"),
        (SCHEMAS, "reference/schemas"),
        (ROOT / "examples", "examples"),
    ):
        shutil.copytree(source, out / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(Path(__file__).with_name("search.js"), out / "search.js")
    (out / "pages.js").write_text(index_of(pages), encoding="utf-8")
    beside = {PAGES / name: front((ROOT / name).read_text()) for name in BESIDE}
    everything = pages | beside | {PAGES / "index.md": front((ROOT / "README.md").read_text())}
    for path, text in everything.items():
        target = out / path.relative_to(PAGES).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title_of(text, path))}</title>'
            f"<style>{STYLE}</style><nav>{contents(pages, path)}</nav><main>{rendered(parser, text)}</main></html>",
            encoding="utf-8",
        )
    dead = dead_links(out.resolve())
    for line in dead:
        print("dead link:", line)
    print(f"{len(everything)} pages in {out}")
    return len(dead)


if __name__ == "__main__":
    sys.exit(main())
