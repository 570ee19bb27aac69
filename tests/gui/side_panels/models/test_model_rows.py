"""What the model list says, and which of its lines a search means. No window."""

from types import SimpleNamespace

import pytest

from geometry.measures.synthetic import SyntheticCurve
from geometry.models.sources.catalogue import (
    SAMPLE,
    SAMPLE_INSIDE,
    SAMPLE_PLAIN,
    CatalogueEntry,
    read_catalogue,
)
from geometry.models.sources.locating import located
from geometry.models.sources.source import Source
from gui.side_panels.models.model_line import identity_of, matches
from gui.side_panels.models.model_rows import MAX_RECENT, list_groups, source_title
from gui.state.session import Session
from gui.state.values import ModelRow

NBSP = "\N{NO-BREAK SPACE}"
COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
STATES = {
    "openai-community/gpt2": "cached",
    "sentence-transformers/all-MiniLM-L6-v2": "installed",
    SAMPLE: "bundled",
    SAMPLE_PLAIN: "bundled",
    "sinusoidal": "computed",
    "sinusoidal-fairseq": "computed",
}


def found(name, downloads=None, note=""):
    return CatalogueEntry(name, name.rsplit("/")[-1], "On the Hub", 0, 0, note, downloads=downloads)


FETCHED = "stanford-crfm/alias-gpt2-small-x21@checkpoint-1000"
OLDER = CatalogueEntry(FETCHED, FETCHED.rsplit("/")[-1], "Downloaded before", 9, 8, "")
ROWS = (
    *(ModelRow(entry, STATES.get(entry.id, "online")) for entry in read_catalogue()),
    ModelRow(OLDER, "cached"),
)
DUTCH = (
    found("GroNLP/gpt2-small-dutch", 3412, "A model for text generation."),
    found("yhavinga/gpt2-medium-dutch-nedd"),
)


def session(recent=(), **fields):
    return Session(**{"models": ROWS, "recent": tuple(map(Source.parse, recent)), **fields})


def lines_of(session, search="", opened=""):
    return [line for group in list_groups(session, search, opened) for line in group.lines]


def line_of(session, source, search="", opened=""):
    return next(line for line in lines_of(session, search, opened) if line.source == source)


def titles(groups):
    return [(group.title, [line.title for line in group.lines]) for group in groups]


def preferred(session, search):
    (line,) = [line for line in lines_of(session, search) if line.preferred]
    return line


@pytest.mark.parametrize(
    ("source", "state", "offline_state"),
    [
        ("openai-community/gpt2", "cached", "cached"),
        ("openai-community/gpt2-medium", "↓ 4.2 MB", "offline"),
        (SAMPLE, "here", "here"),
        ("sinusoidal", "computed", "computed"),
        ("sentence-transformers/all-MiniLM-L6-v2", "here", "here"),
        ("google-bert/bert-base-uncased", "↓ 1.6 MB", "offline"),
        (FETCHED, "cached", "cached"),
    ],
)
def test_where_each_model_is_and_what_fetching_it_takes(source, state, offline_state):
    assert line_of(session(), source).state.replace(NBSP, " ") == state
    assert not line_of(session(), source).refusal
    away = line_of(session(offline=True), source)
    assert away.state == offline_state
    assert bool(away.refusal) == (offline_state == "offline")


def test_refusal_and_tip_say_why_and_that_only_the_table_is_fetched():
    refusal = line_of(session(offline=True), "openai-community/gpt2-medium").refusal
    assert refusal.startswith("GPT-2 medium is not on this machine, and Helixscope is offline.")
    assert f"4.2{NBSP}MB" in refusal
    assert "open its folder" in refusal
    tip = line_of(session(), "openai-community/gpt2-medium").tip.replace(NBSP, " ")
    assert tip.startswith("GPT-2 medium · openai-community/gpt2-medium\n")
    assert "1\N{THIN SPACE}024 dimensions" in tip
    assert tip.endswith("Opening it downloads only the position table: 4.2 MB of 1.5 GB in total.")
    unknown = line_of(session(), "facebook/opt-125m").tip
    assert unknown.endswith("only the position table, not the whole checkpoint.")
    offline = line_of(session(offline=True), "facebook/opt-125m").tip
    assert offline.endswith("Not on this machine, and Helixscope is offline.")


@pytest.mark.parametrize("source", ["openai-community/gpt2", "gpt2", "GPT2", "hf://gpt2"])
def test_the_open_model_is_marked_whatever_it_was_called(source):
    state = session(model=SimpleNamespace(source=Source.parse(source), commit=COMMIT))
    marked = [line for line in lines_of(state, opened=source) if line.is_open]
    assert [(line.title, line.state) for line in marked] == [("GPT-2 small", "open")]
    assert marked[0].tip.endswith(f"Open at commit\n{COMMIT}")
    assert COMMIT not in "".join(line.tip for line in lines_of(state, opened=""))


def test_revisions_are_models_and_the_open_one_works():
    state = session(model=SimpleNamespace(source=Source.parse(FETCHED), commit=COMMIT))
    marked = [line.source for line in lines_of(state, opened=FETCHED) if line.is_open]
    assert marked == [FETCHED]
    state = session(
        offline=True, model=SimpleNamespace(source=Source.parse("gpt2-medium"), commit=None)
    )
    line = line_of(state, "openai-community/gpt2-medium", opened="gpt2-medium")
    assert (line.state, line.refusal, line.is_open) == ("open", "", True)


def test_few_recent_sources_come_first_and_none_comes_twice():
    recent = (
        "/home/x/checkpoints/run-7",
        "gpt2",
        "openai-community/gpt2",
        FETCHED,
        "EleutherAI/gpt-neo-125m@refs/pr/3",
        f"someone/theirs@{COMMIT}",
    )
    group = list_groups(session(recent=recent))[0]
    assert group.title == "Recent"
    assert [(line.title, line.state) for line in group.lines] == [
        ("run-7", "checkpoints"),
        ("gpt-neo-125m@refs/pr/3", "EleutherAI"),
        ("theirs@607a30d", "someone"),
    ]
    assert group.lines[0].tip == recent[0]
    assert group.lines[1].tip.startswith(recent[4])
    assert group.lines[2].tip.startswith(recent[5])
    recent = tuple(f"/home/x/run-{k}" for k in range(9))
    assert len(list_groups(session(recent=recent))[0].lines) == MAX_RECENT


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("openai-community/gpt2", "GPT-2 small"),
        ("gpt2", "GPT-2 small"),
        ("gpt2@v1", "gpt2@v1"),
        (SAMPLE, "Helixscope sample"),
        (FETCHED, "alias-gpt2-small-x21@checkpoint-1000"),
        ("/c/hub/models--someone--my-gpt/snapshots/0123abcd", "my-gpt"),
        ("/home/x/checkpoints/run-7", "run-7"),
        ("C:\\", "C:\\"),
    ],
)
def test_a_short_name_for_each_source(source, title):
    assert source_title(Source.parse(source), ROWS) == title


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("openai-community/gpt2", "gpt2"),
        ("gpt2", "gpt2"),
        ("https://huggingface.co/openai-community/gpt2/tree/main", "gpt2"),
        ("gpt2@refs/pr/3", "gpt2@refs/pr/3"),
        (f"someone/theirs@{COMMIT}", f"theirs@{COMMIT[:7]}"),
        ("/c/hub/models--someone--my-gpt/snapshots/0123abcd", "my-gpt"),
        ("/home/x/checkpoints/run 7/", "run 7"),
        ("/home/x/checkpoints/run 7/model", "run 7"),
        ("/home/x/checkpoints/run 7/model.safetensors", "run 7"),
        ("/home/x/checkpoints/run 7/step 500", "run 7 · step 500"),
        ("C:\\models\\a b.npy", "a b.npy"),
        ("/", "/"),
        (SAMPLE_INSIDE, "sample/inside"),
        (f"{SAMPLE_INSIDE}/layer 1", "sample/inside/layer 1"),
        ("sinusoidal:8x8", "sinusoidal-8x8"),
    ],
)
def test_a_source_is_called_the_same_wherever_it_is_opened(source, name):
    parsed = Source.parse(source)
    assert parsed.name == name
    assert parsed.address is not None or parsed.full_name == name


def test_an_id_that_may_be_mistyped_is_named_whole():
    page = "https://huggingface.co/openai-community/gpt2/tree/main"
    assert Source.parse(page).full_name == "openai-community/gpt2"
    assert Source.parse("someone/theirs@v1").full_name == "someone/theirs@v1"


def test_a_computed_table_of_any_size_can_be_typed_and_is_found_again():
    assert "no tokens or weights" in line_of(session(), "sinusoidal").tip
    for text, title in (
        ("sinusoidal:512x128", "sinusoidal-512x128"),
        ("sinusoidal-fairseq:8x8", "sinusoidal-fairseq-8x8"),
        ("synthetic:circle,turns=2.5", "synthetic circle, 2.5 turns"),
        ("sinusoidal:many", "sinusoidal:many"),
    ):
        line = preferred(session(offline=True), text)
        assert (line.source, line.title, line.state) == (text, f"Open {text}", "computed")
        recent = list_groups(session(recent=(text,)))[0].lines[0]
        saved = Source.parse(text).id
        assert (recent.source, recent.title, recent.state) == (saved, title, "computed")
        assert recent.tip.startswith(saved)
    assert preferred(session(), "sinusoidal").title == "Sinusoidal encoding"
    assert len([one for one in lines_of(session(), "sinusoidal") if one.kind == "source"]) == 2


@pytest.mark.parametrize(
    ("source", "remembered"),
    [
        ("sinusoidal:1024x768", "sinusoidal"),
        ("sinusoidal:8X4", "sinusoidal:8x4"),
        ("sinusoidal:no", "sinusoidal:no"),
        ("synthetic:line,n=9,d=8", SyntheticCurve("line", 9, 8).source),
    ],
)
def test_a_computed_table_is_remembered_by_one_name(source, remembered):
    assert located(Source.parse(source)).id == remembered


def test_a_path_that_cannot_be_looked_at_is_remembered_as_it_is(tmp_path):
    source = str(tmp_path / ("x" * 300))  # too long a name: asking whether it is there raises
    assert located(Source.parse(source)).id == source


def test_positions_inside_the_bundled_model_are_no_model_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / SAMPLE_INSIDE).mkdir(parents=True)
    assert located(Source.parse(SAMPLE_INSIDE)).id == SAMPLE_INSIDE
    line = list_groups(session(recent=(SAMPLE_INSIDE,)))[0].lines[0]
    assert (line.source, line.title, line.tip) == (SAMPLE_INSIDE,) * 3


@pytest.mark.parametrize(
    ("haystack", "search", "expected"),
    [
        ("all-minilm-l6-v2", "mini v2", True),
        ("gpt-2 small openai-community/gpt2", "GPT2 SMALL", True),
        ("gpt-2 small", "small gpt", True),
        ("gpt-2 small", "medium", False),
        ("anything", "", True),
    ],
)
def test_a_search_is_for_all_its_words(haystack, search, expected):
    assert matches(haystack, search) is expected


def test_a_search_and_nothing_else_ends_with_the_offer_to_search_the_hub():
    groups = list_groups(session(), " opt  125 ")
    assert titles(groups) == [
        ("Other language models", ["OPT 125M"]),
        ("On the Hub", ["Search the Hub for “opt 125”"]),
    ]
    assert groups[-1].lines[0].kind == "search"
    assert groups[-1].lines[0].source == "opt 125"
    assert preferred(session(), "opt 125").title == "OPT 125M"
    state = session(hub_results=DUTCH, hub_query="gpt2 dutch")
    assert "On the Hub" not in [group.title for group in list_groups(state)]
    assert not any(line.preferred for line in lines_of(state))


def test_results_are_listed_with_downloads():
    state = session(hub_results=(*DUTCH, found("openai-community/gpt2", 9)), hub_query="gpt2 Dutch")
    groups = list_groups(state, "gpt2  dutch")
    assert titles(groups) == [
        ("On the Hub", [*(entry.id for entry in DUTCH), "openai-community/gpt2"])
    ]
    assert groups[0].unit == "downloads per month"
    first, second, _ = groups[0].lines
    assert (first.state.replace(NBSP, " "), second.state) == ("3.4 k", "")
    assert "3\N{THIN SPACE}412 downloads in the last month." in first.tip
    assert "A model for text generation." in first.tip
    assert "downloads in the last month" not in second.tip
    assert preferred(state, "gpt2 dutch").source == DUTCH[0].id
    state = session(hub_results=(found("openai-community/gpt2-xl", 9),), hub_query="gpt2-xl")
    assert titles(list_groups(state, "gpt2-xl")) == [
        ("OpenAI's GPT-2", ["GPT-2 XL"]),
        ("On the Hub", ["No other model on the Hub matches “gpt2-xl”."]),
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [("search", "Search the Hub for “nanogpt nl”")]),
        ({"searching": "nanogpt nl"}, [("note", "Searching the Hub for “nanogpt nl”…")]),
        ({"searching": "nanogpt"}, [("search", "Search the Hub for “nanogpt nl”")]),
        ({"hub_query": "nanogpt nl"}, [("note", "No model on the Hub matches “nanogpt nl”.")]),
        (
            {"hub_query": "nanogpt", "hub_results": DUTCH},
            [("search", "Search the Hub for “nanogpt nl”")],
        ),
        (
            {"hub_query": "nanogpt nl", "hub_results": DUTCH, "searching": "nanogpt nl"},
            [("note", "Searching the Hub for “nanogpt nl”…")],
        ),
        (
            {"hub_query": "nanogpt nl", "search_failed": "The Hub is busy."},
            [("note", "The Hub is busy."), ("search", "Search the Hub for “nanogpt nl”")],
        ),
        (
            {"offline": True, "hub_query": "nanogpt nl", "hub_results": DUTCH},
            [("note", "The Hub cannot be searched: Helixscope is offline.")],
        ),
    ],
)
def test_each_state_of_a_search_is_a_sentence(fields, expected):
    lines = lines_of(session(**fields), "nanogpt nl")
    assert [(line.kind, line.title) for line in lines] == expected


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("stanford-crfm/alias-gpt2-small-x21@checkpoint-2000",) * 2,
        ("https://huggingface.co/someone/theirs/tree/refs%2Fpr%2F3", "someone/theirs@refs/pr/3"),
        ("hf://someone/theirs@v1.0", "someone/theirs@v1.0"),
        ("  someone/theirs ", "someone/theirs"),
        ("gpt2@refs/pr/3", "openai-community/gpt2@refs/pr/3"),
        (f"gpt2@{COMMIT}", f"openai-community/gpt2@{COMMIT}"),
        ("someone/theirs/x-Q4_K_M.gguf",) * 2,
        ("https://huggingface.co/someone/theirs/blob/v2/x.gguf", "someone/theirs/x.gguf@v2"),
    ],
)
def test_a_full_id_opens_at_the_first_line(text, source):
    line = lines_of(session(), text)[0]
    assert (line.title, line.source) == (f"Open {source} from the Hub", source)
    assert (line.kind, line.preferred, line.refusal) == ("source", True, "")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("openai-community/gpt2", "GPT-2 small"),
        ("OpenAI-Community/GPT2", "GPT-2 small"),
        ("gpt2", "GPT-2 small"),
        ("gpt2-xl", "GPT-2 XL"),
        ("https://huggingface.co/openai-community/gpt2-medium/tree/main", "GPT-2 medium"),
        (FETCHED, "alias-gpt2-small-x21@checkpoint-1000"),
        ("someone/theirs@v1", "theirs@v1"),
    ],
)
def test_an_id_that_is_listed_is_that_line(text, title):
    state = session(recent=("someone/theirs@v1",))
    assert preferred(state, text).title == title
    assert not any(line.title.startswith("Open ") for line in lines_of(state, text))


def test_enter_means_the_model_and_words_are_searched():
    state = session(models=ROWS[::-1])
    assert lines_of(state, "gpt2")[0].title != "GPT-2 small"
    assert preferred(state, "gpt2").title == "GPT-2 small"
    lines = lines_of(session(), "bert-base-cased")
    assert [(line.kind, line.title) for line in lines] == [
        ("search", "Search the Hub for “bert-base-cased”"),
        ("source", "Open bert-base-cased from the Hub"),
    ]
    assert lines[0].preferred
    assert not any(line.title.startswith("Open ") for line in lines_of(session(), "medium"))
    # A second Enter does not open what the first one searched for.
    (line,) = lines_of(session(searching="bert-base-cased"), "bert-base-cased")
    assert line.kind == "note"
    answered = session(hub_results=DUTCH, hub_query="bert-base-cased")
    assert [line.source for line in lines_of(answered, "bert-base-cased")] == [d.id for d in DUTCH]


def test_what_can_be_no_id_is_not_offered_and_a_recent_path_is_listed_once():
    assert list_groups(session(), "a b@c d") == ()
    for text in ("a/model.safetensors", "pytorch_model.bin"):
        assert not any(line.title.startswith("Open ") for line in lines_of(session(), text))
    (line,) = lines_of(session(recent=("/data/run-7",)), "/data/run-7")
    assert line.title == "run-7"
    offered, recent = lines_of(session(recent=("/data/run-7",)), "/data/run")
    assert (offered.source, recent.source) == ("/data/run", "/data/run-7")
    assert offered.preferred


@pytest.mark.parametrize(
    "text",
    ["/home/x/my  run", "~/run", "./run", "..", "C:\\run", "run/step 500", "sample/inside/layer 2"],
)
def test_a_path_is_opened_as_it_is_typed(text):
    (line,) = lines_of(session(), f" {text} ")
    assert (line.source, line.title, line.kind) == (text, f"Open {text}", "source")
    assert line.preferred


def test_a_typed_id_may_be_here_offline_and_is_that_of_the_catalogue():
    line = lines_of(session(offline=True), "someone/theirs@v1")[0]
    assert line.title == "Open someone/theirs@v1 if it is on this machine"
    assert not line.refusal
    assert identity_of("gpt2") == identity_of("https://huggingface.co/openai-community/gpt2")
    assert identity_of("a/b@V1") != identity_of("a/b@v1")
    assert identity_of("/a/b") == "/a/b"


def test_two_gguf_files_of_a_model_are_two_sources():
    names = ("someone/theirs", "someone/theirs/a.gguf", "someone/theirs/b.gguf")
    assert len({identity_of(name) for name in names}) == 3
