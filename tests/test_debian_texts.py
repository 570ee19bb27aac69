"""Texts of the documentation in unpacked packages."""

import gzip
from pathlib import Path

import pytest

from tools.debian_texts import write_texts

PROSE = "The server reads the file and answers each request in the order in which it came. "
PAGE = (
    "<html><head><title>No prose</title><style>p { color: red }</style></head><body>"
    "<nav>Next Up Previous</nav><h1>A heading</h1><p>Caf\N{LATIN SMALL LETTER E WITH ACUTE}s &amp; "
    "\N{LEFT DOUBLE QUOTATION MARK}quotes\N{RIGHT DOUBLE QUOTATION MARK} in <b>one</b> line</p>"
    f"<script>if (a < b) {{}}</script><p>{PROSE * 8}</p></body></html>"
)


@pytest.fixture
def packages(tmp_path) -> Path:
    folder = tmp_path / "packages"
    files = {
        "a-doc/usr/share/doc/a/page.html": PAGE.encode(),
        "a-doc/usr/share/doc/a/plain.txt.gz": gzip.compress(f"Plain. {PROSE * 8}".encode()),
        "a-doc/usr/share/doc/a/again.txt": f"Plain. {PROSE * 8}".encode(),
        "a-doc/usr/share/doc/a/short.txt": PROSE.encode(),
        "a-doc/usr/share/doc/a/table.txt": b"12 | 34 | 56 | 78\n" * 60,
        "a-doc/usr/share/doc/a/changelog.txt": f"Changes. {PROSE * 8}".encode(),
        "a-doc/usr/share/doc/a/picture.png": b"\x89PNG" + bytes(1000),
        "b-doc/usr/share/doc/b/html/fr-FR/page.html": f"<p>French. {PROSE * 8}</p>".encode(),
        "b-doc/usr/share/doc/b/html/en-US/page.html": f"<p>English. {PROSE * 8}</p>".encode(),
        "b-doc/usr/share/doc/b/greek.txt": ("\N{GREEK SMALL LETTER ALPHA} word " * 200).encode(),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read(packages: Path, out: Path) -> dict[str, str]:
    write_texts(packages, out)
    return {path.parent.name + "/" + path.name.split("-", 1)[1]: path.read_text("ascii")
            for path in sorted(out.rglob("*.txt"))}  # fmt: skip


def test_pages_and_texts_become_documents(packages, tmp_path):
    texts = read(packages, tmp_path / "text")
    assert {text.split()[0] for text in texts.values()} == {"A", "Plain.", "English."}
    page = texts["a-doc/page-html.txt"]
    assert page.startswith('A heading\n\nCafes & "quotes" in one line\n')
    assert page.endswith(f"{(PROSE * 8).strip()}\n")
    for word in ("No prose", "color", "Next", "a < b"):
        assert word not in page
    # The same packages make the same text.
    assert read(packages, tmp_path / "again") == texts
