"""What comes through a pipe is one of the messages, or nothing: 3,000 of damaged or late ones."""

import io
import json
import random

import pytest
from msgspec import UNSET

from gui.channel import messages
from gui.channel.pipes import Gone, Pipes
from gui.commands.window_driver import Driver
from gui.notebook.show import Requests
from tools.campaigns.mutating import mutate_json

CASES = 3000
POSE = messages.Pose((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 2.0)
SOUND = (
    messages.ShowPositions(1, (1, 99)),
    messages.ShowComponents(2, (1, 2, 3)),
    messages.Select(3, (5, 7)),
    messages.ShowPanel(4, "inspector"),
    messages.ShowView(5, "article"),
    messages.PlaceCamera(6, POSE),
    messages.RemoveModel(7, "nobody"),
    messages.OpenModel(8, messages.ModelToShow("/nowhere/at/all"), True),
    messages.OpenModel(9, messages.ModelToShow(folder="0123456789abcdef"), False),
    messages.SavePicture(10, "../../evil"),
    messages.Begin("/nowhere", (messages.ModelToShow("sample"),), (1, 5)),
    messages.Ask(11),
    messages.Done(12),
    messages.Failed(13, "no"),
    messages.Ready(),
    messages.Changed(positions=(1, 2)),
)
"""Messages of both directions; those that leave nothing to wait for are carried out."""
FROM_WINDOW = messages.Done | messages.Failed | messages.Ready | messages.Changed


class Kept:
    """Keeps what would be sent."""

    busy = False

    def __init__(self) -> None:
        self.sent: list[messages.Message] = []

    def put(self, message: messages.Message) -> None:
        self.sent.append(message)


def framed(raw: bytes) -> bytes:
    return len(raw).to_bytes(4, "big") + raw


def received(raw: bytes, kinds: object) -> messages.Message:
    return Pipes(io.BytesIO(raw), io.BytesIO(), messages.decoder(kinds)).receive()


def attacked(rng: random.Random) -> bytes:
    """Return the bytes of one attack: a message in a frame, damaged in one of five ways."""
    message = rng.choice(SOUND)
    raw = messages.encode(message)
    match rng.randrange(5):
        case 0:  # malformed, as a whole or in its values
            raw = mutate_json(rng, raw)
        case 1:  # huge: its length, its numbers, or what it lists
            if rng.random() < 0.3:
                return rng.randrange(messages.MAX_BYTES + 1, 1 << 32).to_bytes(4, "big") + raw
            content = json.loads(raw)
            key = rng.choice([key for key in content if key != "kind"] or ["kind"])
            content[key] = rng.choice(
                [10**40, [1] * 200_000, "x" * 100_000, [[[]]] * 5000, -1, 1e308, 2**31, None]
            )
            raw = json.dumps(content).encode()
        case 2:  # half
            return framed(raw)[: rng.randrange(len(raw) + 4)]
        case 3:  # with a number that was used before, or never will be
            content = json.loads(raw)
            content["number"] = rng.choice([0, 1, 1, 2**31 - 1, 2**31, -5])
            raw = json.dumps(content).encode()
        case 4:  # random bytes
            raw = rng.randbytes(rng.randrange(200))
    return framed(raw)


@pytest.fixture
def driver(application, tmp_path):
    made = Driver(application, tmp_path, Kept())
    yield made
    made.release()
    made.deleteLater()


def test_a_window_carries_out_what_is_sound_and_nothing_else(driver, application):
    session, taken = application.session, 0
    model, place = session.model, driver._place
    for case in range(CASES):
        raw = attacked(random.Random(f"0:{case}"))
        try:
            message = received(raw, messages.ToWindow)
        except (messages.BadMessage, Gone):
            continue
        kept = driver._sender = Kept()
        driver.carry_out(message)
        answers = [one for one in kept.sent if isinstance(one, messages.Done | messages.Failed)]
        if isinstance(message, messages.Begin):
            assert answers == []  # it has begun
        elif not isinstance(message, messages.OpenModel) or not message.model.source:
            assert [one.number for one in answers] == [message.number]
        taken += 1
        first, last = session.positions
        assert 0 <= first <= last < model.n_positions
        assert set(session.selection) <= set(range(model.n_positions))
        assert len(set(session.components)) == 3
    application.controller.opening.cancel()
    application.controller.comparing.clear()
    assert 300 < taken < CASES // 2
    assert session.model is model
    assert [*place.iterdir()] == []


def test_a_script_takes_answers_to_what_it_has_asked_and_nothing_else():
    requests, refused, state = Requests(), 0, {}
    with requests.new() as (number, answers):
        for case in range(CASES):
            try:
                message = received(attacked(random.Random(f"1:{case}")), messages.FromWindow)
                if isinstance(message, messages.Done | messages.Failed):
                    requests.answer(message)
                elif isinstance(message, messages.Changed):
                    state |= {
                        name: value for name in ("positions", "components", "selection")
                        if (value := getattr(message, name)) is not UNSET
                    }  # fmt: skip
            except (messages.BadMessage, Gone):
                refused += 1
        while not answers.empty():
            assert answers.get().number == number
    assert refused > CASES // 2
    assert all(isinstance(value, tuple) and min(value) >= 0 for value in state.values())


def test_attacks_are_the_same_each_time():
    once = [attacked(random.Random(f"3:{case}")) for case in range(50)]
    assert once == [attacked(random.Random(f"3:{case}")) for case in range(50)]


def test_messages_come_back_as_they_were():
    for message in SOUND:
        kinds = messages.FromWindow if isinstance(message, FROM_WINDOW) else messages.ToWindow
        if not isinstance(message, messages.SavePicture):  # whose file would lead elsewhere
            assert received(framed(messages.encode(message)), kinds) == message
    with pytest.raises(messages.BadMessage):
        received(framed(messages.encode(SOUND[9])), messages.ToWindow)
    assert received(
        framed(messages.encode(messages.Close(1))), messages.ToWindow
    ) == messages.Close(1)


def test_what_is_too_long_is_not_sent():
    pipes = Pipes(io.BytesIO(), io.BytesIO(), messages.decoder(messages.ToWindow))
    with pytest.raises(messages.BadMessage, match="at most"):
        pipes.send(messages.Select(1, tuple(range(10**6))))
    with pytest.raises(messages.BadMessage, match="UTF-8"):
        pipes.send(messages.ShowPanel(1, "\ud800"))
