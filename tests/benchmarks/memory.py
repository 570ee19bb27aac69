"""The most memory this process ever had."""

import resource
import sys
from pathlib import Path


def peak_megabytes() -> float:
    """Return the peak of the resident memory in MB (10⁶ bytes).

    Linux tells it of this process alone; ``ru_maxrss`` begins with what the parent had.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(ln for ln in status.read_text().splitlines() if ln.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
