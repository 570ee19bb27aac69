"""What is typed on the command line, read; what is wrong is refused as wrong usage (status 2)."""

from pathlib import Path

import typer


def parse_positions(text: str | None) -> tuple[int, int] | None:
    """Read "A-B" (or one position) as an inclusive range."""
    if text is None:
        return None
    first, dash, last = text.replace("–", "-").partition("-")
    try:
        shown = int(first), int(last if dash else first)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no range such as 1-1023", param_hint="--positions"
        ) from None
    if shown[0] > shown[1]:
        raise typer.BadParameter(f"{text!r} ends before it starts", param_hint="--positions")
    return shown


def parse_components(text: str) -> tuple[int, int, int]:
    """Read "1,2,3" as three different components, counted from 1."""
    numbers = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if len(numbers) != 3 or min(numbers) < 1 or len(set(numbers)) != 3:
        raise typer.BadParameter(
            f"{text!r} is not three different components such as 1,2,3",
            param_hint="--components",
        )
    return numbers[0], numbers[1], numbers[2]


def parse_size(text: str) -> tuple[int, int]:
    """Read "1600x1200" as width and height."""
    numbers = [int(part) if part.isdecimal() else 0 for part in text.lower().split("x")]
    if len(numbers) != 2 or min(numbers) < 1:
        raise typer.BadParameter(f"{text!r} is no size such as 1600x1200", param_hint="--size")
    return numbers[0], numbers[1]


def check_ending(out: Path, endings: tuple[str, ...], option: str) -> None:
    """Refuse a file in another format than those that are written."""
    if out.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"{out.name} does not end in {' or '.join(endings)}", param_hint=option
        )
