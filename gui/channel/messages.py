"""The messages of a script and the window that it shows: a small table of typed values.

They are JSON, read as these types by `msgspec <https://msgspec.dev>`_: a message of another kind,
with another field, or with a value out of its bounds is no message.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gui.state.fields import MAX_MODELS, Name, Selection, Three, Whole

MAX_BYTES = 1 << 22
"""Maximum bytes of a message: five times those of a selection of 100,000 positions."""
MAX_SENTENCE = 10_000
"""Maximum number of characters of a sentence or of an advice."""

Range = tuple[Whole, Whole]
Point = tuple[float, float, float]
Sentence = Annotated[str, Meta(max_length=MAX_SENTENCE)]
Names = Annotated[tuple[Name, ...], Meta(max_length=1000)]
FileName = Annotated[str, Meta(pattern=r"^[0-9a-f]{1,32}\Z")]
"""The name of a file or folder in the folder of a window, which leads nowhere else."""


class BadMessage(Exception):
    """What was received is none of the messages, or too long."""


class Message(Struct, forbid_unknown_fields=True, tag=True, tag_field="kind"):
    """Base of all messages; the name of its class is its kind."""


class Pose(Struct, frozen=True, forbid_unknown_fields=True):
    """A camera's pose, see :class:`gui.state.camera.CameraPose`."""

    position: Point
    focal_point: Point
    up: Point
    parallel_scale: float


class ModelToShow(Struct, frozen=True, forbid_unknown_fields=True):
    """A model: a source that the window opens, or one in memory that is handed over."""

    source: Name = ""  # "" for one in memory
    table: Name | None = None  # The choice of a table of the source
    folder: FileName = "0"  # Where one in memory is, in the folder of the window


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """How a window looked when it was closed."""

    models: Names
    positions: Range
    components: Three
    selection: Selection


# ---- to the window -------------------------------------------------------------------------------


class Begin(Message):
    """The first message, and only the first one: what the window shows."""

    place: Name  # The folder of the window, an absolute path
    models: Annotated[tuple[ModelToShow, ...], Meta(min_length=1, max_length=MAX_MODELS)]
    positions: Range | None = None
    again: Look | None = None


class Request(Message):
    """Base of the messages that are answered, by Done or Failed with the same number."""

    number: Whole


class ShowPositions(Request):
    """Show a range of positions."""

    positions: Range


class ShowComponents(Request):
    """Show three components."""

    components: Three


class Select(Request):
    """Select positions; the last one becomes the current one."""

    positions: Selection


class ShowPanel(Request):
    """Bring a panel to the front."""

    name: Name


class ShowView(Request):
    """Go to a named view."""

    view: Name


class PlaceCamera(Request):
    """Move the camera to a pose."""

    pose: Pose


class OpenModel(Request):
    """Open a model in place of the current one, or beside it."""

    model: ModelToShow
    beside: bool


class RemoveModel(Request):
    """Close one of several models."""

    name: Name


class SavePicture(Request):
    """Save a picture of the window as a PNG in its folder."""

    file: FileName


class Ask(Request):
    """Ask for what changes too often to be sent: camera and panels in front."""


class Close(Request):
    """Close the window."""


# ---- from the window -----------------------------------------------------------------------------


class Changed(Message):
    """What has changed since the last such message; the first one has all fields."""

    positions: Range | UnsetType = UNSET
    components: Three | UnsetType = UNSET
    selection: Selection | UnsetType = UNSET
    models: Names | UnsetType = UNSET  # The current one is the first
    notice: Sentence | UnsetType = UNSET


class Ready(Message):
    """The models are shown, or why there is nothing to show."""

    failed: Sentence = ""
    advice: Sentence = ""


class Done(Message):
    """A request was carried out."""

    number: Whole
    pose: Pose | None = None
    panels: Names = ()


class Failed(Message):
    """A request was not carried out."""

    number: Whole
    why: Sentence
    advice: Sentence = ""
    wrong_range: bool = False


class Closing(Message):
    """The window closes; the last message."""


Requests = (
    ShowPositions | ShowComponents | Select | ShowPanel | ShowView | PlaceCamera | OpenModel
    | RemoveModel | SavePicture | Ask | Close
)  # fmt: skip
ToWindow = Begin | Requests
FromWindow = Changed | Ready | Done | Failed | Closing

M = TypeVar("M")


def encode(message: Message) -> bytes:
    """Return a message as JSON.

    Raises
    ------
    BadMessage
        It is too long, or a text in it is no Unicode.
    """
    try:
        encoded = msgspec.json.encode(message)
    except UnicodeEncodeError as error:
        raise BadMessage(f"a text has bytes that are not UTF-8: {error.object!r}") from error
    if len(encoded) > MAX_BYTES:
        raise BadMessage(f"it has {len(encoded)} bytes, and at most {MAX_BYTES} are sent")
    return encoded


def decoder(kinds: type[M]) -> msgspec.json.Decoder[M]:
    """Return what reads messages of some kinds, for :func:`decode`."""
    return msgspec.json.Decoder(kinds)


def decode(raw: bytes, kinds: msgspec.json.Decoder[M]) -> M:
    """Return a message of these kinds.

    Raises
    ------
    BadMessage
        It is none of these.
    """
    try:
        return kinds.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadMessage(str(error)) from error
