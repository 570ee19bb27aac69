"""Files that are read whole: with progress, until they are cancelled."""

import pickle

import numpy as np
import pytest

from geometry.checkpoints.files import open_store
from geometry.checkpoints.transfer import Cancelled, Transfer, local_reads


def test_a_pickle_is_read_with_progress_and_can_be_cancelled(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"wpe": np.ones((9, 4))}))
    seen = []
    with local_reads(Transfer(seen.append)):
        open_store(tmp_path / "a.pkl")
    assert (seen[0].done, seen[-1].done) == (0, (tmp_path / "a.pkl").stat().st_size)
    transfer = Transfer(lambda progress: transfer.cancel())
    with local_reads(transfer), pytest.raises(Cancelled):
        open_store(tmp_path / "a.pkl")
