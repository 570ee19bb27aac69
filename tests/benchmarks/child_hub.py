"""The Hub of the benchmark, in a process of its own: every repository serves the same folder.

Arguments are the seconds that each answer takes, the folder and the repositories. Prints its
address; then, for each line on its standard input, how many requests came since the last one and
how many bytes went out, and ends with the input.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.loopback.hub import LoopbackHub

latency, folder, *names = sys.argv[1:]
with LoopbackHub() as hub:
    files = {path.name: path for path in Path(folder).iterdir()}
    for name in names:
        hub.add(name, files)
    hub.redirect, hub.latency_s = True, float(latency)
    sys.stdout.write(f"{hub.url}\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        sys.stdout.write(f"{len(hub.requests)} {hub.bytes_sent}\n")
        sys.stdout.flush()
        hub.forget_requests()
