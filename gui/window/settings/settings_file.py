"""The file of settings: JSON that is written whole, and the INI file of 0.1."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular
from geometry.checkpoints.whole_files import write_bytes
from gui.state.values import Fields

log = logging.getLogger(__name__)

LARGEST = 2_000_000
"""Bytes of a file of settings: a hundred times what a long prompt and all recent sources take."""
BROKEN, OLD = ".broken", ".old"
"""Suffixes of a damaged file, and of one that the user has reset."""
_DAMAGED = "The settings were reset to their defaults."


def read_settings(file: Path) -> dict[str, object]:
    """Return the values of a JSON file of settings, by their keys.

    Raises
    ------
    HelixscopeError
        It is damaged, or no file.
    OSError
        It cannot be read, or does not exist.
    """
    return parse_json(file.name, _content(file))


def read_old_settings(file: Path) -> dict[str, object]:
    """Return the texts, and the lists of texts, of an INI file that 0.1 wrote with Qt.

    A key has its section in front, such as "view/colormap". Values of other kinds, which Qt would
    make objects of, are left out.

    Raises HelixscopeError, OSError: as in :func:`read_settings`.
    """
    content = _content(file)
    with reading(file.name, _DAMAGED):
        return _parse_ini(content.decode("utf-8", "replace"))


def write_settings(values: Fields, file: Path) -> None:
    """Write a file of settings; OSError if that is impossible."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(json.dumps(values, indent=1, sort_keys=True).encode(), file)


def put_aside(file: Path, ending: str) -> Path:
    """Rename a file, by a suffix and a number that make its name new; return the new path.

    Raises OSError: it cannot be renamed.
    """
    names = chain((ending,), (f".{n}{ending}" for n in count(2)))
    aside = next(
        free for name in names if not os.path.lexists(free := file.with_name(f"{file.name}{name}"))
    )
    os.rename(file, aside)
    return aside


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise HelixscopeError(f"{file.name} is longer than {LARGEST} bytes.", _DAMAGED)
    return content


# ---- the INI files of 0.1 ----

_ESCAPES: Mapping[str, str] = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0",
    '"': '"', "\\": "\\", "?": "?", "'": "'",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\x(?P<hex>[0-9a-fA-F]{1,4})|\\(?P<octal>[0-7]{1,3})|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_KEY = re.compile(r"%(U[0-9A-Fa-f]{4}|[0-9A-Fa-f]{2})")
_OBJECT = re.compile(r"@\w+\(.*\)", re.DOTALL)


def _parse_ini(content: str) -> dict[str, object]:
    found: dict[str, object] = {}
    section = ""
    for line in _lines(content):
        if line.startswith("["):
            name = line.partition("]")[0][1:].strip(" \t")
            section = "" if name.lower() == "general" else f"{_key(name)}/"
        elif "=" in line and not line.startswith(";"):
            key, _, value = line.partition("=")
            parsed = _value(value)
            if parsed is not None:
                found[section + _key(key.strip(" \t"))] = parsed
    return found


def _lines(content: str) -> list[str]:
    """Return the lines; those within quotes, and after a backslash, go on."""
    lines: list[str] = []
    line: list[str] = []
    quoted = escaped = False
    for sign in content:
        if sign in "\r\n" and not quoted and not escaped:
            lines.append("".join(line).strip(" \t"))
            line = []
        else:
            line.append(sign)
            quoted ^= sign == '"' and not escaped
            escaped = sign == "\\" and not escaped
    return [*lines, "".join(line).strip(" \t")]


def _value(text: str) -> str | list[str] | None:
    """Return a text or a list of texts; None for a value of another kind."""
    values: list[str] = []
    value, kept, quoted, several = "", 0, False, False
    for token in _TOKEN.finditer(text):
        plain = token["plain"]
        if plain == '"':
            quoted = not quoted
            kept = len(value)
        elif plain == "," and not quoted:
            values.append(value[:kept] + value[kept:].rstrip(" \t"))
            value, kept, several = "", 0, True
        elif plain is None:
            value += _unescaped(token)
            kept = len(value)
        elif quoted or value or plain not in " \t":
            value += plain
            kept = len(value) if quoted else kept
    values.append(value[:kept] + value[kept:].rstrip(" \t"))
    texts = [_text(one) for one in values]
    if not several:
        return texts[0]
    return [one for one in texts if one is not None]


def _unescaped(token: re.Match[str]) -> str:
    if token["hex"] is not None:
        return chr(int(token["hex"], 16))
    if token["octal"] is not None:
        return chr(int(token["octal"], 8))
    return _ESCAPES.get(token["escaped"], "")


def _text(value: str) -> str | None:
    if value.startswith("@String(") and value.endswith(")"):
        return value[len("@String(") : -1]
    if value.startswith("@@"):
        return value[1:]
    return None if _OBJECT.fullmatch(value) else value


def _key(key: str) -> str:
    return _KEY.sub(lambda code: chr(int(code[1].removeprefix("U"), 16)), key).replace("\\", "/")
