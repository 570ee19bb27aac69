"""Opening a model from the Hub: time and bytes against bare requests, and nine models at once.

The Hub is the tests' own, in a process of its own on this machine, so that the network costs next
to nothing and all the rest shows; large files come from its storage host by a redirect, as from the
real one. The checkpoint is one of GPT-2 small's size (548 MB, sparse). Every opening begins with an
empty cache. The baseline asks for the same three pieces by the same client library (the header, the
configuration, P), with nothing checked and nothing kept, and runs the same PCA.

What is to be gained by opening nine at once is the time that answers take to come. So there they
are 40 ms late, which is a Hub not far away; without that both processes have all the cores busy, as
the baseline has too.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from checkpoints import SMALL, write_gpt2
from ratios import Report, interleave, scratch

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import HEAD_BYTES, Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.opening import open_model
from geometry.pca.first_look import first_look

NAMES = [f"helix/gpt2-{number}" for number in range(9)]
LATENCY_S = 0.04


class Counted:
    """The Hub's process: its address, and what was asked of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._read()

    def take(self) -> tuple[int, int]:
        """Requests and bytes sent since the last time."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        requests, nbytes = self._read().split()
        return int(requests), int(nbytes)

    def _read(self) -> str:
        return self._process.stdout.readline().strip()


@contextmanager
def served(folder: Path, latency_s: float = 0.0, names: Sequence[str] = NAMES) -> Iterator[Counted]:
    """Serve a folder under some names until the block ends, as the Hub of this process."""
    script = Path(__file__).with_name("child_hub.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(latency_s), str(folder), *names],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        hub = Counted(process)
        os.environ["HF_ENDPOINT"] = hub.url
        yield hub
        process.stdin.close()


class Opener:
    """Opens models from the Hub as the application does, each time with an empty cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = count()
        self._hub = Hub()

    def coordinates(self, name: str) -> object:
        """What the application does until there are coordinates to draw."""
        cache = TensorCache(self._folder / f"cache-{next(self._number)}")
        model = open_model(name, network=Network(self._hub, cache, Transfer()))
        return first_look(model.W_pos, (1, model.n_positions - 1)).coordinates


class Bare:
    """The same pieces by bare requests, and the same PCA."""

    def __init__(self, weights: Path) -> None:
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(length))["wpe.weight"]
        start, end = entry["data_offsets"]
        self.nbytes = end - start
        self._first = 8 + length + start
        self._shape = entry["shape"]

    def coordinates(self, name: str) -> object:
        """Three requests and the PCA."""
        from huggingface_hub import hf_hub_url

        head = self._get(hf_hub_url(name, "model.safetensors"), (0, HEAD_BYTES))
        self._get(hf_hub_url(name, "config.json"), None)
        # Straight from where the first request was sent on to.
        rows = self._get(str(head.url), (self._first, self._first + self.nbytes))
        W_pos = np.frombuffer(rows.content, np.float32).reshape(self._shape)
        return first_look(W_pos, (1, len(W_pos) - 1)).coordinates

    @staticmethod
    def _get(address: str, part: tuple[int, int] | None) -> Any:
        from huggingface_hub.utils import build_hf_headers, get_session

        headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
        if part is not None:
            headers["Range"] = f"bytes={part[0]}-{part[1] - 1}"
        response = get_session().get(address, headers=headers)
        response.raise_for_status()
        return response


def at_once(coordinates: Callable[[str], object]) -> None:
    """Nine models in nine threads."""
    with ThreadPoolExecutor(len(NAMES)) as pool:
        tuple(pool.map(coordinates, NAMES))


def nine_to_one(coordinates: Callable[[str], object]) -> tuple[float, float]:
    """Milliseconds of nine at once, and of one."""
    return interleave(lambda: at_once(coordinates), lambda: coordinates(NAMES[0]))


def main() -> int:
    report = Report("Opening a model from the Hub")
    with scratch() as folder:
        # Nothing of the user's is looked at: no token, no cache.
        os.environ |= {"HF_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "HF_TOKEN": ""}
        made = write_gpt2(folder, SMALL, sparse=True)
        weights = made / "model.safetensors"
        report.note(f"{made.name}: {weights.stat().st_size / 1e6:,.0f} MB")
        ours, bare = Opener(folder), Bare(weights)
        with served(made) as hub:
            ours.coordinates(NAMES[0])
            requests, nbytes = hub.take()
            one, baseline = interleave(
                lambda: ours.coordinates(NAMES[0]), lambda: bare.coordinates(NAMES[0])
            )
            busy = nine_to_one(ours.coordinates), nine_to_one(bare.coordinates)
        with served(made, LATENCY_S):
            nine, alone = nine_to_one(ours.coordinates)
    report.add("to coordinates, vs bare requests + PCA", one, baseline, at_most=1.5)
    report.add("    requests, redirect included", requests, None, unit="", limit=4)
    beyond = (nbytes - bare.nbytes) / 1024
    report.add("    bytes beyond the tensor's", beyond, None, unit="KiB", limit=128)
    report.add("nine at once, answers 40 ms late, vs one", nine, alone, at_most=3)
    (nine, alone), (bare_nine, bare_one) = busy
    report.note(
        f"nine at once, answers at once: {nine:.4g} ms vs {alone:.4g} ms for one; "
        f"bare: {bare_nine:.4g} ms vs {bare_one:.4g} ms"
    )
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
