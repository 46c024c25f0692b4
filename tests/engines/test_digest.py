"""The digest of large data: leaves side by side, and every byte, length and border tells."""

import hmac
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
import pytest

from dalenius.engines import _digest
from dalenius.engines._digest import TreeDigest


@pytest.fixture(autouse=True)
def short_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_digest, "LEAF", 64)


def of_files(folder: Path, *contents: bytes, key: bytes = b"key") -> str:
    digest = TreeDigest(key)
    for number, content in enumerate(contents):
        path = folder / str(number)
        path.write_bytes(content)
        digest.add_file(path)
    return digest.hexdigest()


CONTENT = bytes(np.random.default_rng(1).integers(0, 256, 1000, dtype=np.uint8))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1000])
def test_it_is_what_its_page_says(tmp_path: Path, size: int) -> None:
    content = CONTENT[:size]
    root = hmac.new(b"key", b"dalenius tree 1\n", digestmod=lambda: blake2b(digest_size=32))
    root.update(size.to_bytes(8, "little"))
    for start in range(0, size, 64):
        root.update(sha256(content[start : start + 64]).digest())
    in_memory = TreeDigest(b"key")
    in_memory.update(content)
    assert of_files(tmp_path, content) == in_memory.hexdigest() == f"{root.hexdigest()}"


def test_every_byte_border_and_key_tells(tmp_path: Path) -> None:
    found = [of_files(tmp_path, CONTENT), of_files(tmp_path, CONTENT, key=b"other")]
    found += [of_files(tmp_path, CONTENT[:cut], CONTENT[cut:]) for cut in (0, 64, 100, 1000)]
    found += [of_files(tmp_path, CONTENT[:-1]), of_files(tmp_path, CONTENT + b"\0")]
    for place in (0, 63, 64, 500, 999):
        changed = bytearray(CONTENT)
        changed[place] ^= 1
        found.append(of_files(tmp_path, bytes(changed)))
    swapped = CONTENT[64:128] + CONTENT[:64] + CONTENT[128:]
    found.append(of_files(tmp_path, swapped))
    assert len(set(found)) == len(found)


def test_a_file_that_shrinks_while_it_is_read_gives_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = of_files(tmp_path, CONTENT)
    monkeypatch.setattr(_digest.os, "pread", lambda _, size, start: CONTENT[:900][start : start + size])
    assert of_files(tmp_path, CONTENT) != whole
