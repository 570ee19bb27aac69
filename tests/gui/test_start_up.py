"""What the start imports: in a process of its own, as far as the first painted curve."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_torch_and_transformers_are_not_imported_before_the_first_curve(
    gpt2_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "child_ours.py"), str(gpt2_folder)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert "first" in printed
    imported = set(printed["imported"].split(","))
    assert not imported & {"torch", "transformers", "tokenizers", "huggingface_hub"}
