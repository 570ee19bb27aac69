"""Start to the window and to its first curve, against a script's empty Qt + VTK window.

Both are processes of their own, started turn by turn; the time runs from their start. Our side is
what ``main.py open FOLDER`` does, at a first start.
"""

from checkpoints import SMALL, write_gpt2
from children import run_child
from ratios import Report, scratch

REPEATS = 9


def main() -> int:
    report = Report("Start to the first painted window and curve")
    with scratch() as folder:
        checkpoint = write_gpt2(folder, SMALL, sparse=True)
        shown, ours, bare, imported = [], [], [], ""
        for number in range(REPEATS + 1):
            settings = folder / str(number)
            settings.mkdir()
            painted = run_child("child_ours.py", str(checkpoint), settings=settings)
            empty = run_child("child_bare.py", settings=settings)
            imported = painted.get("imported", "")
            if number:  # the first ones read everything from the disk
                shown.append(1e3 * float(painted["window_s"]))
                ours.append(1e3 * float(painted["seconds"]))
                bare.append(1e3 * float(empty["seconds"]))
    report.add_times("start to painted window", shown, bare, 0.5, median_at_most=0.5)
    report.add_times("start to painted curve", ours, bare, 1.2, median_at_most=1.2)
    slow = [name for name in ("torch", "transformers") if name in imported.split(",")]
    report.add("torch and transformers imported by then", len(slow), None, unit="", limit=0)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
