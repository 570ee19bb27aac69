"""The plugins in `examples/`, and some at fault, as a user installs them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests import fake_plugins
from tests.small_models import write_model
from tests.test_wheel import install

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*/pyproject.toml"))
TIMEOUT = 200
"""Seconds."""
WINDOW = """
import json, sys
from geometry.checkpoints.plugins import listen
listen(None)  # as the command line does for a window
from PySide6.QtWidgets import QApplication
from tests.gui.alone import settle, start

application = start(sys.argv[1], "sinusoidal:40x8")
window, session = application.window, application.session
plugins = [name for name in sys.argv[2:] if name in window.docks]
begun = session.notice and session.notice.text
imported = [name for name in sys.modules if name.startswith(("hx_", "helixscope_"))]
shown = {}
for name in plugins:
    window.bring(name)
    settle(application)
    panel = window.panels[name]
    numbers = getattr(panel, "numbers", None)
    shown[name] = panel.words.message.text() if numbers is None else numbers()["gap"].tolist()
notice = session.notice and session.notice.text
print(json.dumps([plugins, imported, begun, shown, notice, application.idle]))
application.close()
"""


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def examples(site):
    """The same with all examples."""
    for project in EXAMPLES:
        fake_plugins.install_project(site, project.parent)
    return site


@pytest.fixture
def at_fault(site):
    """The same with a broken, a slow and an old panel."""
    fake_plugins.install(site, "broken", "import nowhere_at_all")
    fake_plugins.install(site, "slow", "import threading\nthreading.Event().wait()")
    fake_plugins.install(site, "old", "raise SystemExit(3)", interface="0.9")
    return site


@pytest.fixture
def run(tmp_path):
    """Run Python with the packages of a folder, as a user without settings."""
    homes = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "CACHE", "STATE")}

    def call(site, *arguments, python=sys.executable, status=0):
        paths = os.pathsep.join(map(str, filter(None, (ROOT, site))))
        done = subprocess.run(
            [python, *map(str, arguments)],
            env={**os.environ, **homes, "PYTHONPATH": paths},
            cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return call


def write_tiny(folder):
    """A model of the example's family, and its positions."""
    rng, width = np.random.default_rng(0), 8
    tensors = {
        "tiny.positions": rng.normal(size=(20, width)),
        "tiny.tokens": rng.normal(size=(9, width)),
    }
    for name in ("q", "k", "v", "o", "up"):
        tensors[f"tiny.blocks.0.{name}"] = rng.normal(size=(width, width))
    tensors |= {f"tiny.blocks.0.norm_{n}": np.ones(width) for n in (1, 2)}
    config = {"model_type": "tiny_lm", "num_attention_heads": 2}
    write_model(folder, config, tensors)
    return tensors["tiny.positions"]


def test_there_is_one_of_each_kind_and_a_panel_of_at_most_40_lines():
    kinds = [
        group.removeprefix("helixscope.")
        for project in EXAMPLES
        for group in tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"]
    ]
    assert sorted({*kinds} - {"interface"}) == ["claims", "families", "panels", "sources"]
    assert kinds.count("interface") == len(EXAMPLES)
    (panel,) = (ROOT / "examples" / "panel").glob("*.py")
    assert len(panel.read_text("utf-8").splitlines()) <= 40


def check_report(run, site, folder, **how):
    """The panel's numbers and figure, and the claim's row."""
    run(site, ROOT / "main.py", "report", "sinusoidal:20x4", "--no-figures", "--out", folder, **how)
    content = json.loads((folder / "report.json").read_text("utf-8"))
    steps = content["panels"]["gaps"]
    assert steps["position"] == [*range(1, 19)]
    assert np.ptp(steps["gap"]) < 1e-6
    (claim,) = [one for one in content["claims"] if one["id"] == "even_steps.all"]
    assert claim["value"] < 1e-6
    assert claim["outcome"] == "holds"
    assert claim["p_adjusted"] >= claim["p"]


@pytest.mark.slow
def test_they_are_in_a_report(run, examples, tmp_path):
    check_report(run, examples, tmp_path / "out")


def test_a_script_draws_the_panel_and_opens_the_family_and_the_file(run, examples, tmp_path):
    np.savetxt(tmp_path / "table.rows", write_tiny(tmp_path / "tiny"))
    code = (
        "import helixscope as hx, numpy as np\n"
        "m = hx.open('tiny')\n"
        "assert m.family == 'tiny_lm' and 'gaps' in m.figures\n"
        "figure = m.figure('gaps')\n"
        "figure.save('gaps.svg')\n"
        "print(figure.figure.axes[0].get_ylabel())\n"
        "np.testing.assert_allclose(m.W_pos, hx.open('table.rows').W_pos, rtol=1e-6)\n"
    )
    assert run(examples, "-c", code).stdout.casefold() == "distance from the next\n"
    assert (tmp_path / "gaps.svg").is_file()


def in_window(run, site, tmp_path, *names):
    done = run(site, "-c", WINDOW, tmp_path / "settings", *names)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_panel_is_a_tab_of_the_window_and_is_imported_when_it_is_shown(run, examples, tmp_path):
    docks, imported, begun, shown, notice, idle = in_window(run, examples, tmp_path, "gaps")
    assert docks == ["gaps"]
    assert imported == []
    assert begun is None
    assert len(shown["gaps"]) == 38
    assert notice is None
    assert idle


KEPT = """
import json, sys
from tests.gui.alone import settle, start

application = start(sys.argv[1], "sinusoidal:40x8")
window = application.window
window.results.tabs.open("norms")
settle(application)
docks = {name: window.docks[name] for name in ("norms", "gaps") if name in window.docks}
shown = [name for name, dock in docks.items() if not dock.isHidden()]
print(json.dumps([shown, "helixscope_gaps" in sys.modules]))
window.keep_settings()
application.close()
"""


@pytest.mark.slow
def test_a_panel_that_is_installed_later_is_a_tab_of_a_stored_arrangement(run, examples, tmp_path):
    found = [
        json.loads(run(site, "-c", KEPT, tmp_path / "settings").stdout.splitlines()[-1])
        for site in (None, examples, None)
    ]
    assert found == [[["norms"], False], [["norms", "gaps"], False], [["norms"], False]]


CHOOSY = """
from dataclasses import dataclass
from gui.panels.kit.choices import Toggle
from helixscope_gaps import GapsPanel

@dataclass(frozen=True)
class Choices:
    on: bool = False

class Made(GapsPanel):
    name = "choosy"
    defaults = Choices()
    controls = (Toggle(field="on", text="On"),)
"""
RESTORED = """
import sys
from tests.gui.alone import settle, start

application = start(sys.argv[1], "sinusoidal:40x8")
window = application.window
window.results.restore({"choosy": {"on": True, "off": "nonsense"}})
assert "hx_choosy" not in sys.modules
assert window.results.chosen() == {"choosy": {"on": True, "off": "nonsense"}}
window.bring("choosy")
settle(application)
assert window.panels["choosy"].choices.on
assert window.results.chosen() == {"choosy": {"on": True}}
application.close()
"""


@pytest.mark.slow
def test_choices_of_a_project_wait_until_the_panel_is_imported(run, examples, tmp_path):
    fake_plugins.install(examples, "choosy", CHOOSY, what="Made")
    run(examples, "-c", RESTORED, tmp_path / "settings")


@pytest.mark.slow
def test_those_at_fault_give_one_notice_each_and_the_window_opens(run, at_fault, tmp_path):
    names = ("broken", "slow", "old")
    docks, _, begun, shown, notice, idle = in_window(run, at_fault, tmp_path, *names)
    assert docks == ["broken", "slow"]
    assert ("“old”" in begun, "“broken”" in begun, "“slow”" in begun) == (True, False, False)
    assert [notice.count(f"“{name}”") for name in names] == [1, 1, 1]
    assert "nowhere_at_all" in shown["broken"]
    assert "longer than 2 s" in shown["slow"]
    assert idle


@pytest.mark.slow
def test_those_at_fault_give_one_line_each_on_the_command_line(run, at_fault, tmp_path):
    done = run(
        at_fault, ROOT / "main.py", "report", "sinusoidal:20x4", "--no-figures", "--out", "-"
    )
    lines = [line for line in done.stderr.splitlines() if "plugin" in line]
    assert len(lines) == 3
    for name in ("broken", "slow", "old"):
        assert sum(f"“{name}”" in line for line in lines) == 1
    missing = json.loads(done.stdout)["missing"]
    assert {"panels.broken", "panels.slow"} <= set(missing)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before", "after"])
def test_the_safe_mode_leaves_out_all(run, at_fault, examples, tmp_path, where):
    command = ["report", "sinusoidal:20x4", "--no-figures", "--out", "-"]
    command = ["--safe", *command] if where == "before" else [*command, "--safe"]
    done = run(at_fault, ROOT / "main.py", *command)
    content = json.loads(done.stdout)
    assert "plugin" not in done.stderr
    assert "panels" not in content
    assert not any(claim["id"] == "even_steps.all" for claim in content["claims"])


@pytest.mark.slow
def test_they_are_installed_by_pip(run, tmp_path):
    """Into a new environment, which has the libraries of this one."""
    folders = [tmp_path / project.parent.name for project in EXAMPLES]
    for project, folder in zip(EXAMPLES, folders, strict=True):
        shutil.copytree(project.parent, folder)
    place = install(tmp_path / "environment", "--no-build-isolation", *folders)
    check_report(run, None, tmp_path / "out", python=place / "bin" / "python")


CONTRACTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "gui.testing")


@pytest.mark.slow
def test_they_keep_to_the_contracts(run, examples):
    last = run(examples, *CONTRACTS).stdout.splitlines()[-1]
    assert re.match(r"\d+ passed in", last)


@pytest.mark.slow
def test_the_contracts_fail_for_a_panel_and_a_claim_that_break_them(run, site):
    code = (ROOT / "examples" / "panel" / "helixscope_gaps.py").read_text("utf-8")
    code = code.replace(" A jump is a row that stands out.", "").replace("norm(np", "norm(x")
    fake_plugins.install(site, "gaps", code, what="GapsPanel")
    code = (ROOT / "examples" / "claim" / "helixscope_even_steps.py").read_text("utf-8")
    code = code.replace("steps.mean()", "nothing")
    fake_plugins.install(site, "steps", code, kind="claims", what="EVEN_STEPS")
    failed = run(site, *CONTRACTS, status=1).stdout
    for test in (
        "test_it_says_what_it_is[gaps]",
        "test_figure_numbers_and_script_are_of_the_view[gaps]",
        "test_it_has_a_number_or_a_reason[even_steps.all-sample]",
    ):
        assert re.search(rf"^FAILED .*{re.escape(test)}", failed, re.MULTILINE), test
