"""The pages of the user guide: sections, links between them, full-text search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "resources" / "guide"
START = "README.md"
PANELS, KEYS = "panels.md", "keys.md"
POINTER = 40
"""Maximum number of words of a panel's section that only refers to another section."""
BEFORE, EXCERPT = 24, 80
"""Number of characters before a match, and of the whole excerpt."""

_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(`{3,})")
_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_FRAMES = re.compile(r"^\s*(?:[-|: ]{3,}$|[-*] |\d+\. )|\|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and the text below it up to the next heading."""

    page: str  # The file's name
    title: str
    level: int  # 1 for the page's title
    markdown: str
    text: str  # The same as plain text

    @property
    def address(self) -> str:
        """The target of links to it, from any page of the guide."""
        return self.page if self.level == 1 else f"{self.page}#{anchor(self.title)}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the guide."""

    name: str  # The file's name
    markdown: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        """Its first heading."""
        return self.sections[0].title if self.sections else self.name


@dataclass(frozen=True, slots=True)
class Hit:
    """A section with all words of a search."""

    section: Section
    excerpt: str


class UserGuide:
    """The pages of a folder, in the order of the contents on its first page.

    Raises OSError: The folder or its first page cannot be read.
    """

    def __init__(self, folder: Path = GUIDE) -> None:
        self.folder = folder
        first = _read(folder / START)
        self.pages = {START: first}
        for _, link in _LINK.findall(first.markdown):
            if link not in self.pages and re.fullmatch(r"[\w-]+\.md", link):
                self.pages[link] = _read(folder / link)

    @property
    def sections(self) -> Iterator[Section]:
        """All sections, page by page."""
        return (section for page in self.pages.values() for section in page.sections)

    def has(self, address: str) -> bool:
        """Return whether an address, "page.md" or "page.md#section", exists."""
        page, _, part = address.partition("#")
        if page not in self.pages:
            return False
        return not part or any(
            part == anchor(section.title) for section in self.pages[page].sections
        )

    def target(self, link: str, page: str) -> str | None:
        """Return the address of a link on a page; None if it is not in the guide."""
        address = page + link if link.startswith("#") else link
        return address if self.has(address) else None

    def about_panel(self, title: str) -> str:
        """Return the address of the section about a panel, or of the one that it refers to."""
        for section in self.pages[PANELS].sections if PANELS in self.pages else ():
            if section.title == title:
                links = [link for _, link in _LINK.findall(section.markdown)]
                if links and len(section.text.split()) <= POINTER:
                    return self.target(links[0], PANELS) or section.address
                return section.address
        return START

    def search(self, text: str) -> list[Hit]:
        """Return the sections with all words of a text; those with all words in the title first."""
        words = text.lower().split()
        if not words:
            return []
        sections = [s for s in self.sections if _has_all(f"{s.title} {s.text}", words)]
        sections.sort(key=lambda section: not _has_all(section.title, words))
        return [Hit(section, excerpt(section.text, words)) for section in sections]


def anchor(title: str) -> str:
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the part of a text around the first of some words, or its beginning."""
    lower = text.lower()
    places = [at for at in (lower.find(word) for word in words) if at >= 0]
    start = max(min(places, default=0) - BEFORE, 0)
    if start:  # at the beginning of a word
        start = text.find(" ", start) + 1
    part = text[start : start + EXCERPT]
    return f"{'…' * bool(start)}{part.strip()}{'…' * (start + EXCERPT < len(text))}"


def _has_all(text: str, words: Sequence[str]) -> bool:
    lower = text.lower()
    return all(word in lower for word in words)


def _read(file: Path) -> Page:
    markdown = file.read_text("utf-8")
    return Page(file.name, markdown, tuple(_sections(file.name, markdown)))


def _sections(page: str, markdown: str) -> Iterator[Section]:
    title, level, lines, fence = "", 0, list[str](), ""
    for line in [*markdown.splitlines(), "# "]:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = ""
        heading = None if fence else _HEADING.match(line)
        if heading or line == "# ":
            if level:
                body = "\n".join(lines).strip()
                yield Section(page, title, level, body, _plain(body))
            lines = []
        if heading:
            title, level = _plain(heading[2]), len(heading[1])
        elif not mark:
            lines.append(line)


def _plain(markdown: str) -> str:
    return " ".join(re.sub(r"[`*]", "", _FRAMES.sub(" ", _LINK.sub(r"\1", markdown))).split())
