"""What a worker of a local cluster loads when it starts; Dask calls ``dask_setup``."""

from __future__ import annotations

import signal

from geometry.survey.rows import use_one_thread


def dask_setup(_: object) -> None:
    """Prepare the process."""
    # What a terminal sends to all its processes is for that which runs the survey, and ends this.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    use_one_thread()
