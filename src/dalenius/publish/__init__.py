"""Documents made from releases; one file each."""

from dalenius.publish._document import as_read, from_json, to_document, write_json
from dalenius.publish._drawing import draw_kernel, draw_trade_off
from dalenius.publish._format import (
    Format,
    document,
    formats,
    is_single_file,
    is_written_name,
    listed_suffixes,
    load,
    save,
    written_names,
)

__all__ = [
    "Format",
    "as_read",
    "document",
    "draw_kernel",
    "draw_trade_off",
    "formats",
    "from_json",
    "is_single_file",
    "is_written_name",
    "listed_suffixes",
    "load",
    "save",
    "to_document",
    "write_json",
    "written_names",
]
