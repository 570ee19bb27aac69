"""Packages that only some files need: imported for these alone, named where they are missing."""

import subprocess
import sys

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError, missing_package
from geometry.models.sources.opening import open_model

TABLE = np.ones((40, 6), np.float32)


@pytest.mark.parametrize(
    ("package", "name", "content"),
    [
        ("h5py", "a.h5", b"\x89HDF\r\n\x1a\n"),
        ("pyarrow", "a.parquet", b"PAR1"),
        ("pyarrow", "a.feather", b"ARROW1"),
    ],
)
def test_where_a_package_is_missing_a_sentence_has_the_line_to_install(
    package, name, content, tmp_path, monkeypatch
):
    (tmp_path / name).write_bytes(content)
    for module in [package, *(m for m in sys.modules if m.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError, match=package) as caught:
        open_model(tmp_path / name)
    assert f"pip install {package}" in caught.value.advice


def test_optional_packages_are_not_imported_for_other_files(tmp_path):
    np.save(tmp_path / "p.npy", TABLE)
    code = (
        "import sys; from geometry import open_model; open_model(sys.argv[1]); "
        "print({'h5py', 'onnx', 'pyarrow', 'msgpack'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, tmp_path / "p.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_into_a_bundle_nothing_is_installed(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    missing = missing_package(ModuleNotFoundError(name="torch"))
    assert missing is not None
    assert "torch" in str(missing)
    assert "pip install torch" not in f"{missing} {missing.advice}"
