"""Sessions with models from a Hub on this machine, in tests."""

from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import Session
from tests.stand_ins import write_stand_in

GPT2, MEDIUM = "openai-community/gpt2", "openai-community/gpt2-medium"


def serve_two(hub, folder):
    """Serve GPT-2 small, under its old name too, and medium; the Hub."""
    for name in (GPT2, MEDIUM):
        hub.add(name, write_stand_in(folder, name))
    hub.rename("gpt2", GPT2)
    return hub


def next_start(last, **options):
    """What a session is like that starts now."""
    session = Session()
    controller = Controller(session, InlineJobs())
    session.offline = options.pop("offline", False)
    controller.open_first(None, last, **options)
    controller.close()
    return session
