"""Parsing of model addresses on the Hub."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

DEFAULT_ENDPOINT = "https://huggingface.co"
"""The Hub, unless HF_ENDPOINT names another one."""

SERVER_FILE = "helixscope-endpoint.txt"
"""File in a model's folder of the Hub cache, with the :func:`server_name` of its origin."""

_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
"""Hosts that have pages of models."""

_NOT_MODELS = frozenset({"api", "collections", "datasets", "docs", "models", "papers", "spaces"})
"""First path components of the Hub's own pages, which are not names of users."""

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
"""A part of an id: letters, digits, "-", "_", "."; neither "-" nor "." at an end."""
_REPO = re.compile(rf"{_PART}(?:/{_PART})?")
_MAX_REPO_LENGTH = 96

COMMIT = re.compile(r"[0-9a-f]{40}")
"""The id of a commit."""

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+= -]{0,240}"
_FILE = re.compile(
    rf"(?!model\.safetensors$)({_NAME}/){{0,4}}{_NAME}"
    r"\.(gguf|safetensors|bin|pt|pth|pth\.tar|ckpt|nemo|(safetensors|bin)\.index\.json)"
)
"""Path of a file with a complete model, but for that which is opened without a name."""

_FORBIDDEN_REVISION = re.compile(
    r"[\s~^:?*\[\\\x00-\x1f\x7f]|\.\.|//|@\{|^[/.-]|[/.]$|/\.|\.lock(/|$)|^@$"
)
"""Forbidden in a branch's or tag's name by git (git-check-ref-format), and a leading "-"."""

_PAGES = frozenset({"tree", "blob", "resolve", "raw", "commit", "commits"})
"""Words after the id in the address of a page: ".../tree/main", ".../blob/main/config.json"."""


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A model repository at a revision.

    Attributes
    ----------
    repo
        "openai-community/gpt2", or "gpt2" for the oldest ones.
    revision
        A branch, a tag, a commit, or "refs/pr/3".
    file
        The path of the file with the weights, since a repository may have several; "" for its
        usual one.
    """

    repo: str
    revision: str = "main"
    file: str = ""

    def __str__(self) -> str:
        path = f"{self.repo}/{self.file}" if self.file else self.repo
        return path if self.revision == "main" else f"{path}@{self.revision}"

    @property
    def short(self) -> str:
        """The name for captions: "gpt2", or "gpt2@revision", with seven digits of a commit."""
        name, file = self.repo.rsplit("/", 1)[-1], self.file
        if file.endswith(".gguf"):
            name = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", file.rpartition("/")[2])
        elif file:
            name = f"{name} · {file.rpartition('.')[0]}"
        revision = self.revision[:7] if COMMIT.fullmatch(self.revision) else self.revision
        return name if revision == "main" else f"{name}@{revision}"


def endpoint() -> str:
    """Return the Hub's address: the current HF_ENDPOINT, or huggingface.co.

    It may contain a user name and a password, see :func:`without_login`.
    """
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or DEFAULT_ENDPOINT


def server_name(url: str) -> str:
    """Return the endpoint's name in cache keys: "" for huggingface.co, or its address.

    Two endpoints may have different models of the same id.
    """
    scheme, separator, rest = without_login(url.strip().rstrip("/")).partition("://")
    host, slash, path = rest.partition("/")
    address = f"{scheme.lower()}{separator}{host.lower()}{slash}{path}"
    return "" if address == DEFAULT_ENDPOINT else address


def without_login(url: str) -> str:
    """Return an address without user name and password, safe to request, show and log.

    The login is sent in a header, see :func:`geometry.hub.headers.headers_for`.
    """
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else url.rpartition("@")[2]


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address, which identify its server."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return url, None, None
    return parts.scheme, parts.hostname, port


def parse_address(text: str) -> HubAddress | None:
    """Parse a model's address on the Hub.

    Parameters
    ----------
    text
        "id", "id@revision", "hf://id@revision", or the address of a page of the model, such as
        "https://huggingface.co/id/tree/revision"; or that of a file in it: "owner/name/file.gguf",
        "owner/name/folder/file.bin@revision", or its page.

    Returns
    -------
    HubAddress or None
        None if it is not a valid address. The model need not exist.
    """
    text = text.strip()
    if text.startswith(("https://", "http://")):
        return _from_page(text)
    path, at, revision = text.removeprefix("hf://").partition("@")
    repo, file = _split(path)
    return _address(repo, revision if at else "main", file)


def _split(path: str) -> tuple[str, str]:
    """Split "owner/name/file.gguf" into the model and the file; "" if there is none."""
    owner, name, file = [*path.split("/", 2), "", ""][:3]
    return (f"{owner}/{name}", file) if _FILE.fullmatch(file) else (path, "")


def _from_page(url: str) -> HubAddress | None:
    """Parse the URL of a model's page."""
    try:
        parts = urlsplit(url)
        ours = urlsplit(without_login(endpoint())).netloc
    except ValueError:
        return None
    if parts.netloc.lower() not in _HOSTS | {ours.lower()}:
        return None
    words = parts.path.strip("/").split("/")
    if words[0] in _NOT_MODELS:
        return None
    for length in (2, 1):
        if words[length : length + 1] and words[length] in _PAGES:
            rest = words[length + 1 :]
            file = unquote("/".join(rest[3 if rest[:1] == ["refs"] else 1 :]))
            file = file if _FILE.fullmatch(file) else ""
            return _address("/".join(words[:length]), _revision(rest), file)
    return _address("/".join(words), "main")


def _revision(words: list[str]) -> str:
    """Return the revision from the path after "tree/": one word, "refs%2Fpr%2F3" or "refs/pr/3"."""
    if not words:
        return "main"
    return "/".join(words[:3]) if words[0] == "refs" else unquote(words[0])


def _address(repo: str, revision: str, file: str = "") -> HubAddress | None:
    if not _REPO.fullmatch(repo) or len(repo) > _MAX_REPO_LENGTH:
        return None
    if "--" in repo or ".." in repo or repo.endswith(".git"):
        return None
    if not revision or _FORBIDDEN_REVISION.search(revision):
        return None
    return HubAddress(repo, revision, file)
