"""The reference page of extension points, made from the registry and the contracts themselves.

python tools/extension_page.py > docs/reference/extension-points.md
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dalenius.core import registry
from dalenius.testing import extensions

HEAD = """# Extension points

Every package that a distribution of your own can extend: the group of its entry points, the contract of its members, and the kit that judges them. Made from the code by `python tools/extension_page.py`.
How to write, check and allow an extension: [add an extension from a package of your own](../how-to/add-an-extension.md).

To extend is to have every part of the contract, not to inherit. The name of the entry point is the `name` of the object, where it has one; for a format it is the name of its file. *Unvetted* extensions need the policy's consent to evidence `none` beside their distribution and version.
"""
USED_WHERE = {
    "statistics": "a method or a measurement of your own imports it",
    "mechanisms": "a request names it as `mechanism`; never by itself",
    "definitions": "a request names it as `definition`",
    "measurements": "a method of your own imports it, or a request names it as `mechanism` if it states `of_counts`",
    "engines": "it accepts a file that has none of the usual endings",
    "methods": "a request names it as `measure`",
    "estimators": "a method names it",
    "modifiers": "a request writes its keys",
    "plans.margins.strategies": "a request names it as `strategy`; never by itself",
    "postprocess": "a program calls it on a release",
    "publish": "a file has its ending, or a download its name",
    "inference.questions": "`dalenius infer` or a program asks it",
}
"""What reaches a member of each package."""


def made() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(_package, registry.PACKAGES)])


def _package(package: str) -> str:
    lines = [f"## dalenius.{package}\n"]
    is_unvetted = package not in registry.UNPRICED
    lines.append(f"*{'Unvetted' if is_unvetted else 'States no price'}.* Used where {USED_WHERE[package]}.\n")
    lines.append(f"Kit: {' '.join(_kits(package))}\n")
    for contract in registry.contracts(package):
        place = contract.__module__.replace(".", "/")
        lines.append(f"**`{contract.__name__}`** (`src/{place}.py`). {_sentences(contract)}\n")
        lines += ["| part | type | meaning |", "|---|---|---|"]
        for name, kind, words in _parts(contract):
            lines.append("| " + " | ".join(_cell(text) for text in (f"`{name}`", kind and f"`{kind}`", words)) + " |")
        lines.append("")
    return "\n".join(lines)


def _kits(package: str) -> Iterator[str]:
    """What each kit of a package says of itself."""
    kit: Any = extensions.KITS[package]
    names = [kit.__module__.rpartition(".")[2], *kit.__code__.co_names]
    for name in names:
        module = getattr(extensions, name, None)
        if isinstance(module, ModuleType):
            yield f"`dalenius.testing.{name}`: {_first(module)}"


def _parts(contract: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of everything that a contract demands, as it stands in the source."""
    kinds = [kind for kind in contract.__mro__ if kind.__module__.startswith("dalenius.")]
    demanded, stated = set(registry.parts(contract)), set[str]()
    for kind in kinds:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(tree, ast.ClassDef)
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            name = _name(node)
            if name in demanded - stated:
                stated.add(name)
                yield name, *_meaning(node, after)
    assert stated == demanded, f"{contract.__name__}: {demanded - stated}"


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return node.name if isinstance(node, ast.FunctionDef) else ""


def _meaning(node: ast.stmt, after: ast.stmt | None) -> tuple[str, str]:
    """A type and what is said of it: the docstring of a function, or the text below a field."""
    if isinstance(node, ast.FunctionDef):
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        returned = ast.unparse(node.returns) if node.returns else ""
        words = " ".join((ast.get_docstring(node) or "").split())
        if "property" in decorators:
            return returned.strip("'"), words
        arguments = [
            a.arg
            for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if a.arg not in ("self", "cls")
        ]
        sign = "classmethod " if "classmethod" in decorators else ""
        return f"{sign}({', '.join(arguments)}) -> {returned.strip(chr(39))}", words
    assert isinstance(node, ast.AnnAssign)
    kind = re.sub(r"^ClassVar\[(.*)\]$", r"\1", ast.unparse(node.annotation))
    default = f" = {ast.unparse(node.value)}" if node.value is not None else ""
    is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    words = " ".join(str(after.value.value).split()) if is_text else ""  # type: ignore[union-attr]
    return f"{kind}{default if len(default) < 40 else ' = …'}", words


def _sentences(contract: type) -> str:
    return " ".join((inspect.getdoc(contract) or "").split())


def _first(module: ModuleType) -> str:
    return " ".join((module.__doc__ or "").split("\n\n")[0].split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(made(), end="")
