"""A small part of the campaign of views: some projects in one window, in a process of its own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Xvfb")


@pytest.mark.slow
def test_projects_with_any_numbers_show_their_model() -> None:
    command = [sys.executable, "-m", "tools.campaigns.views", "--seed", "3", "--cases", "12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12  cases" in done.stdout
