"""Look the versions in constraints.txt up among known vulnerabilities, with pip-audit.

Exit status 1: one of them is known to be vulnerable. Without pip-audit, or where the index of
packages cannot be asked, a line on standard error, and status 0: a machine without a network can
still check everything else.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
# Only what is pinned there, and nothing installed for it: "--no-deps" needs no resolver.
AUDIT = ["-m", "pip_audit", "--requirement", str(CONSTRAINTS), "--no-deps", "--disable-pip",
         "--progress-spinner", "off", "--format", "json", "--timeout", "15"]  # fmt: skip
#: Seconds for all packages: some hundred requests.
PATIENCE_S = 180


def verdict(written: str) -> tuple[int, str]:
    """Return the exit status and a text on what pip-audit has written on standard output."""
    try:
        packages = json.loads(written)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "Not audited: the index of packages cannot be asked."
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {fixes(flaw)}"
        for one in packages
        for flaw in one.get("vulns", ())
    ]
    if found:
        return 1, "\n".join(["Known vulnerabilities in constraints.txt:", *found])
    skipped = sum("skip_reason" in one for one in packages)
    if skipped:
        return 0, f"Not audited: {skipped} of {len(packages)} packages, which the index lacks."
    return 0, ""


def fixes(flaw: dict[str, list[str]]) -> str:
    """Return the versions without a flaw."""
    return " or ".join(flaw["fix_versions"]) or "no version yet"


def main() -> int:
    """Run pip-audit and report."""
    if importlib.util.find_spec("pip_audit") is None:
        status, text = 0, "Not audited: pip-audit is not installed."
    else:
        try:
            done = subprocess.run(
                [sys.executable, *AUDIT],
                capture_output=True, text=True, check=False, timeout=PATIENCE_S,
            )  # fmt: skip
            status, text = verdict(done.stdout)
        except subprocess.TimeoutExpired:
            status, text = verdict("")
    if text:
        sys.stderr.write(f"{text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
