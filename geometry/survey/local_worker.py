"""What a worker of a local cluster loads when it starts; Dask calls ``dask_setup``."""

from __future__ import annotations

import signal

from geometry.survey.rows import use_one_thread


def dask_setup(_: object) -> None:
    """Prepare the process."""
    # Ctrl+C is for the process that runs the survey, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
