"""Paths of other computers are told from all others, in each form that Windows takes."""

from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.network_paths import host_of

OF_HOST = r"""
    \\host\share \\host\share\model.safetensors //host/share/model \/host\share /\HOST/share
    \\host //host/ \\?\UNC\host\share \\.\unc\host\share //?/UNC/host/share/model
    \??\UNC\host\share \\host@SSL@443\DavWWWRoot\x file://host/share/model FILE://host/share
    file:////host/share file:\\host\share file://///host/share
"""
OF_NONE = r"""
    . gpt2 openai-community/gpt2@main https://huggingface.co/gpt2 hf://gpt2 sample/inside
    sinusoidal:64x16 C:\models\gpt2 C:/models//gpt2 C: C:\\a models\\gpt2 models//gpt2
    \models\gpt2 /models/gpt2 \\?\C:\models \\.\d:\models \??\C:\models file:///C:/models/gpt2
    file:///models/gpt2 ~/models ..\..\models
"""


@pytest.mark.parametrize("path", [*OF_HOST.split(), r" \\host\share "])
def test_a_path_of_another_computer_names_it(path):
    assert host_of(path).partition("@")[0] == "host"


@pytest.mark.parametrize("path", [*OF_NONE.split(), ""])
def test_a_path_of_this_one_names_none(path):
    assert host_of(path) == ""


def test_what_is_no_drive_in_the_systems_own_form_is_taken_for_one():
    for path in (r"\\.\pipe\x", r"\\?\GLOBALROOT\Device\Mup\host\share"):
        assert host_of(path)


@given(st.text(alphabet=r"\/ah:?.U", max_size=12))
def test_what_windows_takes_for_a_share_is_one(path):
    drive = PureWindowsPath(path).drive
    if drive.startswith("\\\\") and drive[2:3] not in "?.\\":
        assert host_of(path)
    if not path.strip().replace("/", "\\").startswith(("\\\\", "\\??\\")):
        assert host_of(path) == ""
