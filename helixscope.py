"""Entry point of the installed command, independent of the current folder.

Unlike `main`, no module of a user has this name. It imports only what the interpreter has loaded
anyway.
"""

import os
import sys


def main() -> None:
    """Run the command line and exit."""
    begin()
    from main import main as run

    run()


def begin() -> None:
    """Prepare the process, before anything else is imported."""
    leave_out_current_folder()
    import signal

    # Until the command line handles it, Ctrl+C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave_out_current_folder() -> None:
    """Search neither modules nor programs in folders relative to the current one.

    These include empty entries of PYTHONPATH and PATH. Python would search them before the
    installed packages.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        left_out = {os.path.abspath(entry) for entry in ("", *entries) if not os.path.isabs(entry)}
    except OSError:  # the current folder was deleted
        return
    left_out.discard(os.path.dirname(os.path.abspath(__file__)))
    library = os.path.dirname(os.__file__)
    before = sys.path.index(library) if library in sys.path else 0
    sys.path[:before] = [e for e in sys.path[:before] if os.path.abspath(e) not in left_out]
    programs = os.environ.get("PATH", "").split(os.pathsep)
    absolute = [entry for entry in programs if os.path.isabs(entry.strip('"'))]
    os.environ["PATH"] = os.pathsep.join(absolute) or os.defpath
