"""Runs first in a bundle: other programs that it starts get the user's own libraries."""

import os

# The loader has read it by now; a browser or ffmpeg would be given libraries of the bundle.
_given = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if _given is None:
    os.environ.pop("LD_LIBRARY_PATH", None)
else:
    os.environ["LD_LIBRARY_PATH"] = _given
