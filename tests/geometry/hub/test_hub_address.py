"""Addresses on the Hub, as people type and paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.hub.address import HubAddress, endpoint, origin, parse_address

COMMIT = "11c5a3d5811f50298f278a704980280950aedb10"


@pytest.mark.parametrize(
    ("text", "repo", "revision"),
    [
        ("gpt2", "gpt2", "main"),
        ("openai-community/gpt2", "openai-community/gpt2", "main"),
        ("  openai-community/gpt2\n", "openai-community/gpt2", "main"),
        ("stanford-crfm/alias-gpt2-small-x21@checkpoint-400000",
         "stanford-crfm/alias-gpt2-small-x21", "checkpoint-400000"),
        ("a/b@refs/pr/3", "a/b", "refs/pr/3"),
        (f"a/b@{COMMIT}", "a/b", COMMIT),
        ("a/b@v1.0+cuda", "a/b", "v1.0+cuda"),
        ("a/b@user@host", "a/b", "user@host"),
        ("_a/b_", "_a/b_", "main"),
        ("hf://a/b", "a/b", "main"),
        ("hf://a/b@dev", "a/b", "dev"),
        ("https://huggingface.co/gpt2", "gpt2", "main"),
        ("https://huggingface.co/openai-community/gpt2/", "openai-community/gpt2", "main"),
        ("http://hf.co/a/b?library=transformers#files", "a/b", "main"),
        ("https://huggingface.co/a/b/tree/main", "a/b", "main"),
        ("https://huggingface.co/a/b/tree", "a/b", "main"),
        ("https://huggingface.co/gpt2/tree/v2", "gpt2", "v2"),
        ("https://huggingface.co/a/b/tree/refs%2Fpr%2F3", "a/b", "refs/pr/3"),
        ("https://huggingface.co/a/b/tree/refs/pr/3/folder", "a/b", "refs/pr/3"),
        ("https://huggingface.co/a/b/blob/dev/sub/config.json", "a/b", "dev"),
        ("https://huggingface.co/a/b/resolve/dev/model.safetensors?download=true", "a/b", "dev"),
        (f"https://huggingface.co/a/b/commit/{COMMIT}", "a/b", COMMIT),
        ("https://huggingface.co/a/tree/tree/v2", "a/tree", "v2"),
    ],
)  # fmt: skip
def test_what_is_an_address(text, repo, revision):
    assert parse_address(text) == HubAddress(repo, revision)


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("a/b/x-Q4_K_M.gguf", "main"), ("a/b/x-Q4_K_M.gguf@v2", "v2"),
        ("hf://a/b/x-Q4_K_M.gguf@refs/pr/3", "refs/pr/3"),
        ("https://huggingface.co/a/b/blob/main/x-Q4_K_M.gguf", "main"),
        ("https://huggingface.co/a/b/resolve/v2/x-Q4_K_M.gguf?download=true", "v2"),
        ("https://huggingface.co/a/b/blob/refs/pr/3/x-Q4_K_M.gguf", "refs/pr/3"),
    ],
)  # fmt: skip
def test_what_is_the_address_of_a_gguf_file(text, revision):
    address = parse_address(text)
    assert address == HubAddress("a/b", revision, "x-Q4_K_M.gguf")
    assert parse_address(str(address)) == address
    assert address.short == ("x-Q4_K_M" if revision == "main" else f"x-Q4_K_M@{revision}")


@pytest.mark.parametrize(
    ("text", "revision", "file"),
    [
        ("a/b/sub/x.gguf", "main", "sub/x.gguf"),
        ("a/b/x/y/ckpt.pt@v2", "v2", "x/y/ckpt.pt"),
        ("a/b/unet/model.safetensors", "main", "unet/model.safetensors"),
        ("a/b/x/model.safetensors.index.json", "main", "x/model.safetensors.index.json"),
        ("https://huggingface.co/a/b/blob/main/sub/x.gguf", "main", "sub/x.gguf"),
        ("https://huggingface.co/a/b/resolve/refs/pr/3/x/y.bin", "refs/pr/3", "x/y.bin"),
    ],
)
def test_what_is_the_address_of_a_file_in_a_folder(text, revision, file):
    address = parse_address(text)
    assert address == HubAddress("a/b", revision, file)
    assert parse_address(str(address)) == address


def test_what_is_no_file_in_a_folder():
    for text in ("b/x.gguf", "a/b/.gguf", "a/b/x.gguf/", "a/b/x.GGUF", "a/b/../x.pt", "a/b//x.pt"):
        assert parse_address(text) in (None, HubAddress("b/x.gguf"))


#: One in each word.
NO_ADDRESSES = r"""
    @ @main a/b@ a/b/c /a/b a/b/ ./a ../a a/.. ~/models C:\models C:/models/gpt2 a/b.git a--b/c a..b
    -a/b a/b- a/.b a/b@.. a/b@x..y a/b@/x a/b@x/ a/b@x//y a/b@-x a/b@x~1 a/b@x^ a/b@x:y a/b@x?
    a/b@x* a/b@x[ a/b@x\y a/b@x.lock a/b@a/.b a/b@@{1} модель/гпт https://huggingface.co
    https://huggingface.co/ https://huggingface.co/datasets/a/b https://huggingface.co/spaces/a/b
    https://huggingface.co/models https://[/a/b https://huggingface.co/a/b/discussions/3
    https://example.com/a/b ftp://a/b hf://datasets/a/b hf://
"""
BLANK_OR_LONG = ("", " ", "a b", "a/b@ main", "a/b@\x07", "a" * 97, f"{'a' * 50}/{'b' * 50}")


@pytest.mark.parametrize("text", [*NO_ADDRESSES.split(), *BLANK_OR_LONG])
def test_what_is_none(text):
    assert parse_address(text) is None


def test_pages_of_the_hub_in_use_are_understood(monkeypatch):
    page = "https://mirror.example:8443/a/b/tree/dev"
    assert parse_address(page) is None
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example:8443/")
    assert parse_address(page) == HubAddress("a/b", "dev")


def test_the_endpoint_is_read_when_asked(monkeypatch):
    for setting, expected in (
        (None, "https://huggingface.co"),
        ("", "https://huggingface.co"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
    ):
        if setting is None:
            monkeypatch.delenv("HF_ENDPOINT", raising=False)
        else:
            monkeypatch.setenv("HF_ENDPOINT", setting)
        assert endpoint() == expected


@pytest.mark.parametrize(
    ("address", "text", "short"),
    [
        (HubAddress("a/b"), "a/b", "b"),
        (HubAddress("gpt2", "v1"), "gpt2@v1", "gpt2@v1"),
        (HubAddress("a/b", "refs/pr/3"), "a/b@refs/pr/3", "b@refs/pr/3"),
        (HubAddress("a/b", "0123abcd" * 5), "a/b@" + "0123abcd" * 5, "b@0123abc"),
    ],
)
def test_how_it_is_written(address, text, short):
    assert str(address) == text
    assert address.short == short


PART = st.from_regex(r"[a-z0-9_]([a-z0-9._-]{0,8}[a-z0-9_])?", fullmatch=True)


@given(st.one_of(PART, st.builds("{}/{}".format, PART, PART)), st.text(max_size=12), st.text())
def test_what_is_written_is_read_again_and_no_text_breaks_it(repo, revision, text):
    for one in (f"{repo}@{revision}" if revision else repo, text):
        address = parse_address(one)
        assert address is None or parse_address(str(address)) == address
    parse_address(f"https://huggingface.co/{text}")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://huggingface.co", "https://huggingface.co:443/a?b#c", True),
        ("http://127.0.0.1:80/x", "http://127.0.0.1", True),
        ("https://HuggingFace.co/x", "https://huggingface.co", True),
        ("https://huggingface.co", "http://huggingface.co", False),
        ("https://huggingface.co", "https://cdn.huggingface.co", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001", False),
        ("https://huggingface.co", "https://huggingface.co.example.com", False),
        ("http://a:b", "http://a:c", False),
    ],
)
def test_which_addresses_are_of_one_server(one, other, same):
    assert (origin(one) == origin(other)) == same
