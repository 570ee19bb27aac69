"""What the loopback Hub keeps: repositories, their revisions and who may see them."""

import hashlib
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.loopback.answers import Answer, Content, error

#: Opens gated and private repositories; and that of an account which nobody let in.
RIGHT_TOKEN, OTHER_TOKEN = "hf_right", "hf_other"


class Repo:
    """One model: commits, and the branches, tags and pull requests that point at them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gated = self.private = False
        self.refs: dict[str, str] = {}
        self.commits: dict[str, dict[str, Content]] = {}
        self._lock = threading.Lock()

    def commit(self, revision: str, contents: Mapping[str, bytes | Path]) -> str:
        """Make a commit with exactly these files and let the revision point at it."""
        files = {name: Content(name, source) for name, source in contents.items()}
        with self._lock:
            text = f"{self.name} {revision} {len(self.commits)} {sorted(files)}"
            sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
            self.commits[sha] = files
            self.refs[revision.removeprefix("refs/heads/")] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        """Find the commit of a branch, a tag, a pull request or a commit, perhaps shortened."""
        for name in (revision, f"refs/tags/{revision}"):
            if name in self.refs:
                return self.refs[name]
        if re.fullmatch("[0-9a-f]{7,40}", revision):
            found = [sha for sha in self.commits if sha.startswith(revision)]
            return found[0] if len(found) == 1 else None
        return None

    def listed_refs(self, *, pull_requests: bool) -> dict[str, list[dict[str, str]]]:
        """Return branches, tags and pull requests as the API lists them."""
        listed: dict[str, list[dict[str, str]]] = {"branches": [], "converts": [], "tags": []}
        if pull_requests:
            listed["pullRequests"] = []
        for name, sha in self.refs.items():
            ref = name if name.startswith("refs/") else f"refs/heads/{name}"
            _, space, short = ref.split("/", 2)
            kinds = {"heads": "branches", "tags": "tags", "convert": "converts"}
            kind = kinds.get(space, "pullRequests")
            if kind in listed:
                listed[kind].append({"name": short, "ref": ref, "targetCommit": sha})
        return listed

    def describe(self, sha: str, *, sizes: bool) -> dict[str, Any]:
        """As the API tells of a model at one commit."""
        files = self.commits[sha].values()
        return {
            "_id": hashlib.sha256(self.name.encode()).hexdigest()[:24], "id": self.name,
            "modelId": self.name, "author": self.name.split("/")[0], "sha": sha,
            "private": self.private, "gated": "manual" if self.gated else False,
            "disabled": False, "downloads": len(self.name), "likes": len(self.commits),
            "tags": ["transformers", "gpt2"], "pipeline_tag": "text-generation",
            "library_name": "transformers", "lastModified": "2024-02-19T10:57:45.000Z",
            "createdAt": "2022-03-02T23:29:04.000Z",
            "siblings": [c.describe() if sizes else {"rfilename": c.name} for c in files],
        }  # fmt: skip

    def list_tree(self, sha: str) -> list[dict[str, Any]]:
        """As the API lists the files of one commit."""
        return [content.entry() for content in self.commits[sha].values()]


def refused(token: str, repo: Repo | None, name: str, *, of_file: bool) -> Answer | None:
    """Return the Hub's refusal, or None where this token (or none) may see what it asks for.

    The description of a gated model is public, its files are not. Whether a model is private or
    does not exist is not told to those who may not see it.
    """
    if token not in ("", RIGHT_TOKEN, OTHER_TOKEN):
        message = "Invalid credentials in Authorization header"
        return error(401, "", message, of_file=of_file)
    if repo is None or (repo.private and token != RIGHT_TOKEN):
        if not token:
            return error(401, "RepoNotFound", "Invalid username or password.", of_file=of_file)
        return error(404, "RepoNotFound", "Repository not found", of_file=of_file)
    if not repo.gated or not of_file or token == RIGHT_TOKEN:
        return None
    message = f"Access to model {name} is restricted"
    if not token:
        message += ". You must have access to it and be authenticated to access it. Please log in."
        return error(401, "GatedRepo", message, of_file=True)
    message += " and you are not in the authorized list. Visit the model's page to ask for access."
    return error(403, "GatedRepo", message, of_file=True)
