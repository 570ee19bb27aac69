"""Write the plain English text of the documentation in Debian packages, one file for each document.

    python -m tools.debian_texts PACKAGE… --out TEXT [--without PACKAGE/FOLDER]

Packages are downloaded by apt-get; PACKAGE=VERSION asks for a version. Every HTML, text and
reStructuredText file in them, compressed or not, becomes one .txt file under TEXT/PACKAGE: without
tags, as ASCII, in the order of its words. Translations, lists of changes, tables and what is hardly
text at all are left out, and so is what was seen before. The digest that is printed identifies
the texts in the files of what is measured with them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from geometry.inside.windows import corpus_of, find_texts

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


def download(packages: Sequence[str], folder: Path) -> Path:
    """Download packages and unpack each into a folder of its name; return the folder of these."""
    debs, unpacked = folder / "debs", folder / "unpacked"
    debs.mkdir()
    subprocess.run(["apt-get", "--quiet=2", "download", *packages], cwd=debs, check=True)
    for deb in sorted(debs.glob("*.deb")):
        target = unpacked / deb.name.partition("_")[0]
        target.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", deb, target], check=True)
    return unpacked


def write_texts(packages: Path, out: Path) -> None:
    """Write the texts in a folder of unpacked packages."""
    seen: set[bytes] = set()
    for path in files(packages):
        text = plain(path)
        digest = hashlib.sha256(text.encode()).digest()
        if not text or digest in seen:
            continue
        seen.add(digest)
        folder = out / path.relative_to(packages).parts[0]
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9]+", "-", path.name.removesuffix(".gz"))[:60]
        (folder / f"{digest.hex()[:12]}-{name}.txt").write_text(text + "\n", "ascii")


def write_packages(packages: Sequence[str], out: Path, without: Sequence[str] = ()) -> None:
    """Download packages and write their texts, but for those in some of their folders."""
    with tempfile.TemporaryDirectory() as folder:
        unpacked = download(packages, Path(folder))
        for left_out in without:
            shutil.rmtree(unpacked / left_out)
        write_texts(unpacked, out)


def main() -> None:
    """Download the packages and write the texts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    parser.add_argument("--out", type=Path, required=True, help="folder for the .txt files")
    parser.add_argument("--without", action="append", default=[], metavar="PACKAGE/FOLDER",
                        help="folder of a package that is left out")  # fmt: skip
    asked = parser.parse_args()
    write_packages(asked.packages, asked.out, asked.without)
    corpus = corpus_of(find_texts(str(asked.out)))
    sys.stdout.write(f"{corpus.files} texts, SHA-256 {corpus.digest}\n")


if __name__ == "__main__":
    main()
