"""An extension for one test: a file beside the others of its package, found by the registry, and gone afterwards."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

from dalenius.core import registry


@contextmanager
def planted(package: str, name: str, text: str) -> Iterator[None]:
    """Add the module `name` with this text to an extension package; nothing else is told of it."""
    root = registry.module_of(package)
    assert name not in registry.names(package), f"{package} has an extension {name!r}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        root.__path__.append(folder)
        registry.forget()
        try:
            yield
        finally:
            root.__path__.remove(folder)
            sys.modules.pop(f"dalenius.{package}.{name}", None)
            vars(root).pop(name, None)
            sys.path_importer_cache.pop(folder, None)
            registry.forget()
