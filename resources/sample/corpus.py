"""Plain English text from the documentation in unpacked Debian packages.

    apt-get download git-doc python3.11-doc
    for package in *.deb; do dpkg-deb -x "$package" "unpacked/${package%%_*}"; done
    python corpus.py --packages unpacked --out text

Every HTML, text and reStructuredText file under ``unpacked``, compressed or not, becomes one .txt
file under ``text``: without tags, as ASCII, in the order of its words. Translations, lists of
changes, tables and what is hardly text at all are left out, and so is what was seen before.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ENDINGS = (".html", ".htm", ".txt", ".rst", ".7")

#: Elements whose text is no prose, and those that end a line.
SILENT = ("script", "style", "head", "svg", "math", "nav", "footer", "select", "button")
LINES = re.compile(
    "address|article|blockquote|br|d[dlt]|div|fig(caption|ure)|h[1-6r]|li|ol|p|pre|section|table"
    "|t[dhr]|ul"
)

#: Folders and names of what is not English prose.
OTHER_LANGUAGE = re.compile(r"(^|/)(translations|(?!en)[a-z]{2}[-_][A-Z]{2})(/|$)")
NO_PROSE = re.compile(r"(?i)^(change|news|genindex|search|copyright|maintainers|credits|index-all)")

PUNCTUATION = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "•": "*", "\xa0": " "}
)
SHORTEST = 500  # characters of a document
LETTERS = 0.55  # share of letters and spaces, below which it is a table or a listing
ASCII = 0.98  # share of ASCII characters, below which it is another language


class Text(HTMLParser):
    """Collects what a reader of a page would read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a line, or fall silent."""
        if tag in SILENT:
            self._silent.append(tag)
        elif LINES.fullmatch(tag):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End a line, or speak again."""
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif LINES.fullmatch(tag):
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not self._silent:
            self.parts.append(data)


def files(packages: Path) -> Iterator[Path]:
    """Give the files with prose in them, in order of their names."""
    for path in sorted(packages.rglob("*")):
        name = path.name.removesuffix(".gz")
        if not name.endswith(ENDINGS) or NO_PROSE.match(name) or path.is_symlink():
            continue
        if path.is_file() and not OTHER_LANGUAGE.search(path.relative_to(packages).as_posix()):
            yield path


def plain(path: Path) -> str:
    """Return a file's text as ASCII; "" if there is little, or if it is no English prose."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    text = data.decode("utf-8", "replace")
    if path.name.removesuffix(".gz").endswith((".html", ".htm")):
        page = Text()
        page.feed(text)
        page.close()
        text = "".join(page.parts)
    text = text.translate(PUNCTUATION).replace("\r", "")
    if not text or sum(letter < "\x7f" for letter in text) < ASCII * len(text):
        return ""
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    text = "\n".join(line.rstrip() for line in text.expandtabs(4).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    prose = sum(letter.isalpha() or letter == " " for letter in text)
    return text if len(text) >= SHORTEST and prose >= LETTERS * len(text) else ""


def main() -> None:
    """Read the packages and write the text."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, help="folder of unpacked packages")
    parser.add_argument("--out", type=Path, required=True, help="folder for the .txt files")
    wanted = parser.parse_args()
    seen: set[bytes] = set()
    for path in files(wanted.packages):
        text = plain(path)
        digest = hashlib.sha256(text.encode()).digest()
        if not text or digest in seen:
            continue
        seen.add(digest)
        package = path.relative_to(wanted.packages).parts[0]
        folder = wanted.out / package
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9]+", "-", path.name.removesuffix(".gz"))[:60]
        (folder / f"{digest.hex()[:12]}-{name}.txt").write_text(text + "\n", "ascii")


if __name__ == "__main__":
    main()
