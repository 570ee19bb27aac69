"""Where an access token comes from is told as the Hub's client finds it; the token itself never."""

import itertools

import pytest
from huggingface_hub import constants, get_token

from geometry.hub.token_place import token_place

TOKEN = "hf_neverShowThis"
VALUES = (None, "", "  ", TOKEN)


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "home" / "token"
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(path))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.mark.parametrize("case", list(itertools.product(VALUES, repeat=3)))
def test_it_is_where_the_client_finds_it(file, monkeypatch, case):
    first, second, stored = case
    if stored is not None:
        file.parent.mkdir()
        file.write_text(stored, "utf-8")
    for name, value in (("HF_TOKEN", first), ("HUGGING_FACE_HUB_TOKEN", second)):
        if value is not None:
            monkeypatch.setenv(name, value)
    place = token_place()
    assert (place is not None) == (get_token() is not None)
    assert place in (None, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", str(file))
    if place is not None and place != str(file):
        assert {"HF_TOKEN": first, "HUGGING_FACE_HUB_TOKEN": second}[place] == TOKEN


def test_a_token_that_is_not_to_be_sent_is_none(file, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    assert token_place() is None


def test_a_file_that_cannot_be_read_is_none(file):
    file.mkdir(parents=True)
    assert token_place() is None
