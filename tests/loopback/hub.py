"""A Hugging Face Hub on this machine, for tests: what the client sees, and every fault on demand.

It answers as huggingface.co does, as far as opening a model goes: the model's description, its
revisions and files, the search, and files in full or in parts; large ones from a second host, the
storage, when :attr:`LoopbackHub.redirect` is set. What was asked is in `requests`.

Note that the client library makes a request of its own before the first with `build_hf_headers`, to
"/api/agent-harnesses", unless its telemetry is switched off. It is on record like all others; a
fault for any path leaves it alone.
"""

import copy
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote, unquote

from tests.loopback.answers import Answer, error, part
from tests.loopback.faults import UNASKED, Fault, Playing
from tests.loopback.repos import OTHER_TOKEN, RIGHT_TOKEN, Repo, refused
from tests.loopback.server import Host, Request, Server, untrusted

__all__ = ["OTHER_TOKEN", "RIGHT_TOKEN", "Fault", "LoopbackHub", "Playing", "Request"]

_REVISION = r"(?P<revision>refs/(?:pr|convert)/[^/]+|[^/]+)"
_FILE = re.compile(rf"/(?P<repo>[^/]+(?:/[^/]+)?)/resolve/{_REVISION}/(?P<file>.+)")
_CACHED_FILE = re.compile(
    r"/api/resolve-cache/models/(?P<repo>[^/]+(?:/[^/]+)?)/(?P<revision>[0-9a-f]{40})/(?P<file>.+)"
)
_MODEL = re.compile(
    r"/api/models/(?P<repo>[^/]+?(?:/(?!revision/|refs$|tree/)[^/]+)?)"
    rf"(?:/revision/{_REVISION}|/(?P<refs>refs)|/tree/(?P<tree>[^/]+))?/?"
)
_STORED = re.compile(r"/(?P<repo>.+)/(?P<sha256>[0-9a-f]{64})/(?P<file>.+)")


class LoopbackHub(AbstractContextManager):
    """A Hub on 127.0.0.1 and its storage host, as a context manager.

    Parameters
    ----------
    tls
        Serve HTTPS, with a certificate that nobody trusts.

    Attributes
    ----------
    url
        What to set ``HF_ENDPOINT`` to.
    redirect
        Answer large files with a redirect (302) to the storage host, which refuses tokens.
    redirect_small
        Answer small files with a redirect (307) on the Hub itself, as huggingface.co does.
    ranges
        Send the parts of files that are asked for; else always all of them, with status 200.
    latency_s
        Every answer comes so much later, as from far away; for benchmarks, tests have gates.
    errors
        What went wrong in the server itself; a test that ends with some has met a bug here.
    """

    def __init__(self, *, tls: bool = False) -> None:
        self.redirect = self.redirect_small = False
        self.ranges = True
        self.latency_s = 0.0
        self.errors: list[BaseException] = []
        self.closing = threading.Event()
        self._repos: dict[str, Repo] = {}
        self._renamed: dict[str, str] = {}
        self._records: list[Request] = []
        self._faults: list[Playing] = []
        self._signature = 1
        self._lock = threading.Lock()
        context = untrusted() if tls else None
        self._hub, self._storage = (Server(self, host, context) for host in ("hub", "storage"))
        self.url = self._hub.url

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop both hosts; stalled answers end, and from now on connections are refused."""
        self.closing.set()
        for server in (self._hub, self._storage):
            server.stop()

    # ---- what is served ----------------------------------------------------------------

    def add(
        self,
        repo: str,
        files: Mapping[str, bytes | Path],
        *,
        revision: str = "main",
        gated: bool = False,
        private: bool = False,
    ) -> str:
        """Add a revision (a branch, "refs/tags/…" or "refs/pr/…") of these files; its commit.

        What was there before under this revision stays, by its commit.
        """
        with self._lock:
            kept = self._repos.setdefault(repo, Repo(repo))
        kept.gated, kept.private = gated, private
        return kept.commit(revision, files)

    def move(self, repo: str, revision: str, commit: str) -> None:
        """Let a branch point at another commit."""
        self._repos[repo].refs[revision] = commit

    def rename(self, old: str, new: str) -> None:
        """Redirect (307) everything asked of an old name, as "gpt2" for "openai-community/gpt2"."""
        self._renamed[old] = new

    def expire_links(self) -> None:
        """Let the storage refuse (403) the signed addresses that were given out so far."""
        self._signature += 1

    # ---- faults and the record ---------------------------------------------------------

    def fault(
        self,
        fault: Fault,
        *,
        path: str = "*",
        host: Host | Literal["*"] = "*",
        times: int | None = 1,
        after: int = 0,
    ) -> Playing:
        """Queue a fault for the next answers of a host and path, after some are left alone.

        The path may have wildcards: "*/model.safetensors" matches on both hosts. It is played so
        many times, None for always; ``playing.reached.wait(10)`` waits until it is being played.
        """
        playing = Playing(fault, path, host, times, after)
        with self._lock:
            self._faults.append(playing)
        return playing

    def clear_faults(self) -> None:
        """Play no further faults."""
        with self._lock:
            self._faults.clear()

    @property
    def requests(self) -> list[Request]:
        """All requests so far on both hosts, in the order of their coming."""
        with self._lock:
            return [copy.copy(record) for record in self._records]

    @property
    def bytes_sent(self) -> int:
        """Bytes of all bodies."""
        return sum(request.sent for request in self.requests)

    def forget_requests(self) -> None:
        """Start counting anew."""
        with self._lock:
            self._records.clear()

    @contextmanager
    def unasked(self) -> Iterator[None]:
        """Assert that nothing is asked in the block."""
        self.forget_requests()
        yield
        assert self.requests == []

    def note(self, record: Request) -> None:
        """Keep the record of a request, before a byte of its answer goes out; for the server."""
        with self._lock:
            self._records.append(record)

    def next_fault(self, record: Request, answer: Answer) -> Playing | None:
        """Take the first fault whose turn it is; for the server."""
        with self._lock:
            for playing in self._faults:
                if playing.takes(record.host, record.path, answer):
                    return playing
        return None

    # ---- answers -----------------------------------------------------------------------

    def answer(self, record: Request) -> Answer:
        """Answer a request as the real hosts would; for the server."""
        if record.host == "storage":
            return self._stored(record)
        if record.path == UNASKED:
            return Answer.json(200, {"standardEnvVars": [], "harnesses": {}})
        if record.path == "/api/models":
            return self._search(record)
        pattern = (_CACHED_FILE, _FILE, _MODEL)
        match = next(filter(None, (p.fullmatch(record.path) for p in pattern)), None)
        if match is None:
            return Answer.text(404, "Not Found", {})
        if new := self._renamed.get(match["repo"]):
            place = record.path.replace(match["repo"], new, 1)
            query = f"?{record.query}" if record.query else ""
            return Answer.text(307, f"Redirecting to {place}", {"Location": place + query})
        return self._of_repo(record, match)

    def _of_repo(self, record: Request, match: re.Match[str]) -> Answer:
        parts = match.groupdict()
        is_file = parts.get("file") is not None
        repo = self._repos.get(parts["repo"])
        if refusal := refused(record.token, repo, parts["repo"], of_file=is_file):
            return refusal
        assert repo is not None
        if parts.get("refs"):
            asked = "include_prs" in parse_qs(record.query)
            return Answer.json(200, repo.listed_refs(pull_requests=asked))
        revision = unquote(parts.get("revision") or parts.get("tree") or "main")
        sha = repo.resolve(revision)
        if sha is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {revision}", of_file=is_file)
        if is_file:
            return self._file(record, repo, sha, unquote(parts["file"]))
        if parts.get("tree"):
            return Answer.json(200, repo.list_tree(sha))
        return Answer.json(200, repo.describe(sha, sizes="blobs" in parse_qs(record.query)))

    def _file(self, record: Request, repo: Repo, sha: str, name: str) -> Answer:
        content = repo.commits[sha].get(name)
        commit = {"X-Repo-Commit": sha}
        if content is None:
            missing = error(404, "EntryNotFound", "Entry not found", of_file=True)
            return missing.with_headers(commit)
        linked = {"X-Linked-Size": str(content.size), "X-Linked-ETag": content.etag, **commit}
        if content.is_large and self.redirect:
            place = f"{self._storage.url}/{repo.name}/{content.sha256}/{quote(name)}"
            place += f"?X-Signature={self._signature}"
            return Answer.text(302, f"Found. Redirecting to {place}", {"Location": place, **linked})
        if not content.is_large and self.redirect_small and "resolve-cache" not in record.path:
            place = f"/api/resolve-cache/models/{repo.name}/{sha}/{quote(name)}"
            place += f"?etag={quote(content.etag)}"
            text = f"Temporary Redirect. Redirecting to {place}"
            return Answer.text(307, text, {"Location": place, **linked})
        return part(self._range(record), content, {"ETag": content.etag, **commit})

    def _stored(self, record: Request) -> Answer:
        if record.authorization:
            return Answer.text(400, "Only one auth mechanism is allowed.", {})
        match = _STORED.fullmatch(record.path)
        if parse_qs(record.query).get("X-Signature") != [str(self._signature)]:
            return Answer.text(403, "Request has expired.", {})
        repo = self._repos.get(match["repo"]) if match else None
        for files in repo.commits.values() if match and repo else ():
            content = files.get(unquote(match["file"]))
            if content is not None and content.sha256 == match["sha256"]:
                return part(self._range(record), content, {"ETag": content.storage_etag})
        return Answer.text(404, "The specified key does not exist.", {})

    def _range(self, record: Request) -> str | None:
        return record.range if self.ranges else None

    def _search(self, record: Request) -> Answer:
        query = {name: values[0] for name, values in parse_qs(record.query).items()}
        text, author = query.get("search", "").casefold(), query.get("author")
        found = [
            repo.describe(sha, sizes=False)
            for repo in self._repos.values()
            if text in repo.name.casefold() and author in (None, repo.name.split("/")[0])
            if (sha := repo.resolve("main")) and (not repo.private or record.token == RIGHT_TOKEN)
        ]
        if query.get("sort") in ("downloads", "likes"):
            found.sort(key=lambda model: -model[query["sort"]])
        return Answer.json(200, found[: int(query.get("limit", 1000))])
