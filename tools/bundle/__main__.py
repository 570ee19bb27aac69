"""Make a folder that runs without Python, and an AppImage of it.

    python -m tools.bundle [--torch cpu] [--runtime FILE]

The folder is build/bundle/helixscope, with PyTorch build/bundle-torch/helixscope. Beside what
PyInstaller collects it has share/, with what desktops look for. The AppImage is beside it.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.bundle.icons import write_icons

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "tools" / "bundle" / "helixscope.spec"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RUNTIMES = "https://github.com/AppImage/type2-runtime/releases"


def main() -> None:
    """Make the bundle that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tools.bundle")
    parser.add_argument("--torch", choices=["", "cpu"], default="")
    parser.add_argument("--runtime", type=Path, help="what an AppImage begins with")
    given = parser.parse_args()
    if given.torch:
        import torch

        if torch.version.cuda is not None:
            sys.exit(
                "PyTorch is installed here with GPU libraries, of gigabytes. Run make clean, then "
                "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make bundle TORCH=cpu"
            )
    place = ROOT / "build" / ("bundle-torch" if given.torch else "bundle")
    folder = make_folder(place, given.torch)
    report(folder)
    if sys.platform == "linux":
        make_appimage(folder, given.runtime)


def make_folder(place: Path, torch: str) -> Path:
    """Make the folder ``place / "helixscope"``."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    write_icons(place)
    options = ["--noconfirm", "--log-level", "ERROR", "--distpath", str(place)]
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", *options, "--workpath", str(place / "work"), SPEC],
        env={**os.environ, "TORCH": torch, "PYTHONWARNINGS": "ignore"}, cwd=ROOT, check=True,
    )  # fmt: skip
    shutil.rmtree(place / "work")
    folder = place / "helixscope"
    for inside, files in PROJECT["tool"]["setuptools"]["data-files"].items():
        (folder / inside).mkdir(parents=True)
        for file in files:
            shutil.copy(ROOT / file, folder / inside)
    return folder


def make_appimage(folder: Path, runtime: Path | None) -> None:
    """Make an AppImage of the folder: the runtime, which mounts what follows it, and the folder.

    That is what appimagetool does, which neither PyPI nor Debian has, nor the runtime.
    """
    if runtime is None or shutil.which("mksquashfs") is None:
        sys.stdout.write(
            "No AppImage was made. It takes mksquashfs (apt-get install squashfs-tools) and the "
            f"file runtime-{platform.machine()} of {RUNTIMES}; "
            "then: make bundle RUNTIME=that/file\n"
        )
        return
    top = folder.with_name("AppDir")
    shutil.copytree(folder, top / "usr", symlinks=True, copy_function=os.link)
    (top / "AppRun").symlink_to("usr/helixscope")
    shutil.copy(ROOT / "resources" / "helixscope.desktop", top)
    for name in ("helixscope.svg", ".DirIcon"):
        shutil.copy(ROOT / "resources" / "icons" / "helixscope.svg", top / name)
    squashed, version = folder.with_name("squashed"), PROJECT["project"]["version"]
    kind = "-torch" if folder.parent.name.endswith("torch") else ""
    image = folder.with_name(f"Helixscope{kind}-{version}-{platform.machine()}.AppImage")
    subprocess.run(
        ["mksquashfs", top, squashed, "-root-owned", "-noappend", "-comp", "zstd", "-quiet",
         "-no-progress"],
        check=True,
    )  # fmt: skip
    with image.open("wb") as file:
        for part in (runtime, squashed):
            with part.open("rb") as content:
                shutil.copyfileobj(content, file)
    image.chmod(0o755)
    squashed.unlink()
    shutil.rmtree(top)
    report(image)


def report(made: Path) -> None:
    """Write a path and its size to standard output."""
    files = [made] if made.is_file() else made.rglob("*")
    size = sum(file.lstat().st_size for file in files)
    sys.stdout.write(f"{made.relative_to(ROOT)}: {size / 1e6:,.0f} MB\n")


if __name__ == "__main__":
    main()
