"""Models on the Hub that are not complete on this machine: the download that a run needs.

Opening a model reads only its table of positions; running it needs all of its weights. So the
user is asked first, with the size: :func:`to_download`, and then
:func:`geometry.hub.whole_model.fetch_model`.
"""

from __future__ import annotations

from geometry.checkpoints.config import parse_json
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.client import Hub
from geometry.hub.faults import Offline
from geometry.hub.whole_model import WholeModel, list_model
from geometry.inside.network import check_known, find_in_cache
from geometry.models.sources.catalogue import canonical, hub_cache
from geometry.models.sources.locating import located
from geometry.models.sources.source import Source

CONFIG = "config.json"


def to_download(source: str, hub: Hub, transfer: Transfer) -> WholeModel | None:
    """Return the files to download before a source can be loaded as a network.

    Asks the Hub only for the files of a model that is not complete here, see
    :func:`geometry.hub.whole_model.list_model`, and for its configuration.

    Returns
    -------
    WholeModel or None
        None for a source on this machine, for a model of the Hub that is complete here, and for
        sources that are not valid, which :func:`geometry.inside.network.load_network` refuses.

    Raises
    ------
    InsideError
        The model has a class of its own, whose code would have to be run.
    HelixscopeError
        As :func:`geometry.hub.whole_model.list_model`.
    """
    named = located(Source.parse(source)).address
    address = None if named is None else canonical(named)
    if address is None or find_in_cache(address) is not None:
        return None
    try:
        model = list_model(address, hub, hub_cache(), transfer)
        if any(file.name == CONFIG for file in model.files):
            at_commit = HubAddress(address.repo, model.commit)
            config = parse_json(CONFIG, hub.fetch(at_commit, CONFIG, transfer))
            check_known(address.short, config)
        return model
    except Offline as error:
        raise Offline(
            f"{source} is not complete on this machine, and Helixscope is offline.", error.advice
        ) from error
