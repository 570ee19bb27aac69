"""Known vulnerabilities: a found one fails `make check`, a missing network does not."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

from tests.command_line import ROOT

SCRIPT = ROOT / ".ci" / "audit.py"


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(*packages):
    return json.dumps({"dependencies": packages, "fixes": []})


CLEAN = {"name": "numpy", "version": "2.0", "vulns": []}
SKIPPED = {"name": "torch", "skip_reason": "not found"}
FLAW = {"id": "PYSEC-1", "fix_versions": ["10.1", "11.0"], "aliases": [], "description": "bad"}
BAD = {"name": "pillow", "version": "10.0", "vulns": [FLAW]}


@pytest.mark.parametrize(
    ("output", "status", "words"),
    [
        (written(CLEAN), 0, ""),
        (written(CLEAN, BAD), 1, "pillow 10.0: PYSEC-1, mended in 10.1 or 11.0"),
        (written(SKIPPED, BAD), 1, "pillow 10.0"),
        (written({**BAD, "vulns": [{**FLAW, "fix_versions": []}]}), 1, "no version yet"),
        (written(CLEAN, SKIPPED), 0, "1 of 2 packages"),
        ("", 0, "cannot be asked"),
        ("[]", 0, "cannot be asked"),
    ],
)
def test_verdicts(audit, output, status, words):
    found, text = audit.verdict(output)
    assert found == status
    assert words in text
    assert bool(text) == bool(words)


def test_without_a_network_a_line_and_no_failure():
    """Through a proxy that is not there."""
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, check=False,
        env=os.environ | proxies,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Not audited: ")
    assert done.stderr.count("\n") == 1


def test_tests_do_not_wait_for_it():
    """`make test` runs what is static alone."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = dict(
        line.split(":", 1) for line in makefile.splitlines() if line[:1].isalpha() and ":" in line
    )
    assert "audit" in targets["check"].split("##")[0].split()
    for name in ("test", "static"):
        assert "audit" not in targets[name]


def test_the_page_about_security_names_what_there_is():
    """Its files and constants, and the places that it links to."""
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    paths = set(re.findall(r"`((?:geometry|gui)/[\w/]+\.py)`", page))
    assert len(paths) > 10
    for names, path in re.findall(r"((?:`\w+`(?:, )?)+) in\s+`([\w/]+\.py)`", page):
        text = (ROOT / path).read_text("utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(?:class |def )?{name}\b", text, re.MULTILINE), (name, path)
    assert all((ROOT / path).is_file() for path in paths)
    assert "docs/security.md" in (ROOT / "README.md").read_text("utf-8")
