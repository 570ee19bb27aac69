"""How much memory this process has, and the most it ever had."""

import gc
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_megabytes() -> float:
    """Return the peak of the resident memory in MB (10⁶ bytes).

    Linux tells it of this process alone; ``ru_maxrss`` begins with what the parent had.
    """
    if STATUS.is_file():
        return _told("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def resident_megabytes() -> float:
    """Return what the process has in memory now, in MB (10⁶ bytes)."""
    gc.collect()
    return _told("VmRSS")


def _told(name: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024 / 1e6
