"""A runnable network: its blocks, its tokenizer, and the download that it needs."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geometry.checkpoints.adapted_store import MERGE
from geometry.checkpoints.adapters import ADAPTER_CONFIG
from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import parse_json, read_json
from geometry.checkpoints.errors import FileChanged
from geometry.checkpoints.files import weights_in
from geometry.checkpoints.formats.gguf_store import part_names
from geometry.checkpoints.result import result
from geometry.checkpoints.stores import check_link
from geometry.checkpoints.suffixes import GGUF
from geometry.checkpoints.tokenizer_files import VOCABULARIES
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.client import Hub
from geometry.hub.faults import Offline
from geometry.hub.whole_model import WholeModel, list_model
from geometry.inside.settings import InsideError
from geometry.inside.windows import Splitter, Window, draw_windows, find_texts
from geometry.models.notes import Making, read_making
from geometry.models.sources.catalogue import BUNDLED, canonical, with_entry
from geometry.models.sources.local_models import hub_cache, locate, locate_address, snapshot_of
from geometry.models.sources.locating import located
from geometry.models.sources.opening import name_of
from geometry.models.sources.source import Source
from geometry.models.tokens import FastTokenizer, load_tokenizer, without_row

if TYPE_CHECKING:
    import torch

Weights = Literal["trained", "random", "shuffled"]
FULL = "Open a complete checkpoint in the Hugging Face layout, or a GGUF file."
DOWNLOAD = "“File › Measure positions inside a model…” and “helixscope positions” download it."
ADVICE = "Check that the model is one that transformers loads."
TOKENIZERS = ("tokenizer.json", *VOCABULARIES)
"""Files of a tokenizer, at least one of which must exist."""
CONFIG = "config.json"
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
_LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")

log = logging.getLogger(__name__)


@result
class RunnableNetwork:
    """A network of transformers, ready to run.

    Attributes
    ----------
    name, source
        Its name, for captions, and the source from which it was opened.
    module
        The torch module, called with ``input_ids`` (batch, length).
    blocks
        Its layers in order; each returns the residual stream, (batch, length, d_model), or a tuple
        that begins with it.
    causal
        Whether each token sees only those before it.
    splitter
        Its tokenizer.
    longest
        Maximum number of tokens; None if there is no limit.
    d_model
        Size of the residual stream.
    files
        Identifier of the files it was loaded from, by names, sizes and times.
    head
        Whether the module predicts the next token, and so has ``logits``.
    """

    name: str
    source: str
    module: Any
    blocks: tuple[Any, ...]
    causal: bool
    splitter: Splitter
    longest: int | None
    d_model: int
    files: str
    head: bool = False

    @property
    def n_layers(self) -> int:
        """Layers of the residual stream: after the embedding, and after each block."""
        return len(self.blocks) + 1

    @property
    def tokenizer(self) -> FastTokenizer:
        """Its tokenizer, which also names tokens."""
        return FastTokenizer(self.splitter.backend, self.name)

    def check_tokens(self, subject: str, ids: Iterable[int]) -> None:
        """Check that the network has an embedding for each token of a text, the message's subject.

        Raises InsideError: a token has none.
        """
        rows = self.module.get_input_embeddings().weight.shape[0]
        if why := without_row(ids, rows, self.name, self.tokenizer.text_of):
            raise InsideError(
                f"{subject} has {why}.",
                "Check that the tokenizer is this model's, or use texts without such tokens.",
            )

    def windows_of(self, texts: Path | str, length: int, at_most: int, seed: int) -> list[Window]:
        """Return windows of texts, whose tokens all have an embedding.

        Parameters
        ----------
        texts
            See :func:`geometry.inside.windows.find_texts`.
        length, at_most, seed
            See :func:`geometry.inside.windows.draw_windows`.

        Raises
        ------
        InsideError
            The texts are too short, or have a token that the network lacks.
        """
        windows = draw_windows(find_texts(texts), self.splitter, length, at_most, seed)
        for window in windows:
            self.check_tokens(window.file, window.ids.tolist())
        return windows

    @contextmanager
    def watched(self, look: Callable[[int, torch.Tensor], None]) -> Iterator[None]:
        """Call ``look(layer, h)`` with the residual stream of each layer as it is computed.

        ``h`` has shape (batch, length, d_model); layer 0 is what the first block reads.
        """

        def before(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            look(0, args[0] if args else kwargs["hidden_states"])

        def after(layer: int) -> Callable[..., None]:
            def hook(_module: Any, _args: Any, output: Any) -> None:
                look(layer, output[0] if isinstance(output, tuple) else output)

            return hook

        hooks = [self.blocks[0].register_forward_pre_hook(before, with_kwargs=True)]
        hooks += [
            block.register_forward_hook(after(number))
            for number, block in enumerate(self.blocks, start=1)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def moved(self, layer: int, by: torch.Tensor) -> Iterator[None]:
        """Add vectors to the residual stream of a layer within the ``with`` block.

        Parameters
        ----------
        layer
            As for :meth:`watched`.
        by : (k, d_model)
            Added at the first k positions of each text, or at all positions of a shorter one.
        """

        def sum_of(h: torch.Tensor) -> torch.Tensor:
            changed = h.clone()
            changed[:, : len(by)] += by[: h.shape[1]].to(h.device, h.dtype)
            return changed

        def before(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if args:
                return (sum_of(args[0]), *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": sum_of(kwargs["hidden_states"])}

        def after(_module: Any, _args: Any, output: Any) -> Any:
            if isinstance(output, tuple):
                return sum_of(output[0]), *output[1:]
            return sum_of(output)

        if layer == 0:
            hook = self.blocks[0].register_forward_pre_hook(before, with_kwargs=True)
        else:
            hook = self.blocks[layer - 1].register_forward_hook(after)
        try:
            yield
        finally:
            hook.remove()


@contextmanager
def enough_memory(advice: str = "Use shorter windows.") -> Iterator[None]:
    """Report a forward pass that takes more memory than there is."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise InsideError("The memory is not enough for a forward pass.", advice) from error


def load_network(
    source: str | Source,
    *,
    device: str = "cpu",
    weights: Weights = "trained",
    seed: int = 0,
    head: bool = False,
    attention: bool = False,
) -> RunnableNetwork:
    """Load a network from this machine.

    Parameters
    ----------
    source
        "sample"; a folder in the Hugging Face layout; a GGUF file; or the id of a model, or the
        address of a GGUF file, that is completely in the Hub cache (see :func:`to_download`).
    device
        Of torch: "cpu", "cuda", "mps".
    weights
        "random" for the initial weights of a training of the same architecture; "shuffled" for the
        trained ones with the entries of each matrix, embeddings included, in random order.
    seed
        Of random and shuffled weights.
    head
        Whether to load a causal language model with its head; encoders are loaded without.
    attention
        Whether the module can return its attention patterns, which takes more time and memory.

    Raises
    ------
    HelixscopeError
        It is not on this machine, lacks weights, has no tokenizer that gives the places of its
        tokens, or is not a network of transformers.
    """
    source = located(Source.of_any(source))
    place = _place(source)
    name = _name(source, place)
    with reading(name, ADVICE, error=InsideError, fault="cannot be loaded"), _quiet():
        try:
            return _load(name, source.text, place, device, weights, seed, head, attention)
        except ModuleNotFoundError:
            raise
        except (OSError, ValueError, ImportError) as error:
            log.warning("%s cannot be loaded", place, exc_info=True)
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise InsideError(f"{name} cannot be loaded: {reason}.", ADVICE) from error


def making_of(source: str | Source) -> Making:
    """Return what is known of the making of a network on this machine."""
    source = located(Source.of_any(source))
    place = _place(source)
    making, _ = read_making(place if place.is_dir() else place.parent)
    return with_entry(making, source.address)


def _load(
    name: str,
    source: str,
    place: Path,
    device: str,
    weights: Weights,
    seed: int,
    head: bool,
    attention: bool,
) -> RunnableNetwork:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    folder = place
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if place.suffix == GGUF:
        folder, options["gguf_file"] = place.parent, place.name
    else:
        check_known(name, _config(folder))
    files = _identity(place)
    config = AutoConfig.from_pretrained(folder, **options)
    splitter = _splitter(name, folder, options)
    text = config.get_text_config()
    causal = bool(getattr(text, "is_decoder", False)) or _is_causal(config)
    kind = AutoModelForCausalLM if head and causal else AutoModel
    if weights == "random":
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            module = kind.from_config(config, trust_remote_code=False)
    else:
        module, loading_info = kind.from_pretrained(
            folder,
            output_loading_info=True,
            dtype=torch.float32,
            attn_implementation="eager" if attention else None,
            **options,
        )
        _check_complete(name, loading_info)
        if weights == "shuffled":
            _shuffle(module, seed)
    if getattr(config, "is_encoder_decoder", False):
        module = module.get_encoder()
    module = module.to(device).eval()
    blocks = _blocks(name, module, text)
    if _identity(place) != files:
        raise FileChanged(name)
    return RunnableNetwork(
        name,
        source,
        module,
        blocks,
        causal,
        splitter,
        _longest(module, text),
        text.hidden_size,
        files,
        kind is AutoModelForCausalLM,
    )


def _shuffle(module: torch.nn.Module, seed: int) -> None:
    """Put the entries of each matrix of a network in random order."""
    import torch

    random = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        if parameter.ndim > 1:
            flat = parameter.detach().reshape(-1)
            parameter.data = flat[torch.randperm(len(flat), generator=random)].view_as(parameter)


def _place(source: Source) -> Path:
    """Return the folder or the GGUF file of a source."""
    if source.text in BUNDLED:
        folder = locate(source.text)
        if folder is not None:
            return folder
    path = Path(source.text).expanduser()
    if path.suffix == GGUF and path.is_file():
        if len(part_names(path.name)) > 1:
            raise InsideError(
                f"{path.name} is one part of a model, which cannot be run in parts.",
                "Join the parts with llama.cpp’s gguf-split --merge.",
            )
        return path
    if path.is_dir():
        files = sorted(path.glob(f"*{GGUF}"))
        has_config = (path / CONFIG).is_file()
        if (path / ADAPTER_CONFIG).is_file() and not has_config:
            raise InsideError(f"{path.name} is an adapter, which is not run with its model.", MERGE)
        return files[0] if len(files) == 1 and not has_config else path
    if path.is_file():
        raise InsideError(f"{path.name} is a file of weights, not a whole model.", FULL)
    if source.address is None:
        check_link(path)
        raise InsideError(f"There is no file or folder {source.text!r}.", FULL)
    here = find_in_cache(canonical(source.address))
    if here is None:
        raise InsideError(f"{source} is not complete on this machine.", DOWNLOAD)
    if here.is_dir():
        weights_in(here)
    return here


def find_in_cache(address: HubAddress) -> Path | None:
    """Return the folder of a model that is complete in the Hub cache, or its GGUF file; else None.

    For an address without a file: the model in its own layout, or its only cached GGUF file.
    """
    here = locate_address(address)
    if address.file:
        return here
    if here is not None:
        has_tokenizer = any((here / name).is_file() for name in TOKENIZERS)
        return here if has_tokenizer else None
    snapshot = snapshot_of(address)
    if snapshot is None:
        return None
    files = [path for path in snapshot.glob(f"*{GGUF}") if path.is_file()]
    return files[0] if len(files) == 1 else None


def to_download(source: str, hub: Hub, transfer: Transfer) -> WholeModel | None:
    """Return the files to download before a source can be loaded as a network.

    Asks the Hub only for the files of a model that is not complete here, see
    :func:`geometry.hub.whole_model.list_model`, and for its configuration.

    Returns
    -------
    WholeModel or None
        None for a source on this machine, for a model of the Hub that is complete here, and for
        sources that are not valid, which :func:`load_network` refuses.

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


def _identity(place: Path) -> str:
    """Return an identifier of a file, or of the files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(place.iterdir()) if place.is_dir() else [place]:
        if path.is_file():
            status = path.stat()
            digest.update(f"{path.name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _name(source: Source, place: Path) -> str:
    if source.text in BUNDLED:
        return source.text
    return name_of(place) if source.address is None else canonical(source.address).short


def _config(folder: Path) -> Mapping[str, Any]:
    config = folder / CONFIG
    return read_json(config) if config.is_file() else {}


def check_known(name: str, config: Mapping[str, Any]) -> None:
    """Check that transformers has the class of a model, so that no other code has to be run.

    ``name`` is for the message, ``config`` the content of its ``config.json``.

    Raises InsideError: it has a class of its own.
    """
    if "auto_map" not in config:
        return
    from transformers import CONFIG_MAPPING

    if config.get("model_type") not in CONFIG_MAPPING:
        raise InsideError(
            f"{name} needs Python code of its own, which Helixscope does not run.",
            "Use a model whose architecture is in transformers.",
        )


def _splitter(name: str, folder: Path, options: dict[str, Any]) -> Splitter:
    """Load tokenizer.json itself, which AutoTokenizer may replace by its own."""
    if "gguf_file" in options:
        from transformers import AutoTokenizer

        return Splitter.of(AutoTokenizer.from_pretrained(folder, **options).backend_tokenizer)
    tokenizer = load_tokenizer(folder)
    if not isinstance(tokenizer, FastTokenizer):
        raise InsideError(f"{name} has no fast tokenizer, so its tokens have no places.", FULL)
    return Splitter.of(tokenizer.backend)


def _check_complete(name: str, loading_info: dict[str, Any]) -> None:
    """Raise InsideError if weights are missing, which transformers would initialise at random."""
    # BERT's pooler, for example, is not part of the residual stream.
    missing = [key for key in sorted(loading_info.get("missing_keys", ())) if "pooler" not in key]
    if missing:
        raise InsideError(
            f"{name} is not complete: {len(missing)} tensors are missing, {missing[0]} among them.",
            FULL,
        )


def _blocks(name: str, module: Any, config: Any) -> tuple[Any, ...]:
    """Return the layers: the first list of the length given by the configuration."""
    from torch.nn import ModuleList

    counts = (getattr(config, key, None) for key in _LAYERS)
    count = next((value for value in counts if isinstance(value, int)), None)
    for part in module.modules():
        if isinstance(part, ModuleList) and len(part) == count:
            return tuple(part)
    raise InsideError(f"The layers of {name} were not found.", ADVICE)


def _longest(module: Any, config: Any) -> int | None:
    """Return the maximum number of tokens."""
    from torch.nn import Embedding

    for path, part in module.named_modules():
        if isinstance(part, Embedding) and path.endswith("position_embeddings"):
            # RoBERTa's positions begin after the row of the padding token.
            first = 0 if part.padding_idx is None else part.padding_idx + 1
            return int(part.num_embeddings) - first
    values = (getattr(config, key, None) for key in _LONGEST)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _is_causal(config: Any) -> bool:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = config.model_type
    return (
        kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress transformers' progress bars and messages."""
    import torch  # noqa: F401  # first: transformers prints a warning without it
    from transformers.utils import logging as messages

    level, shown = messages.get_verbosity(), messages.is_progress_bar_enabled()
    messages.set_verbosity(messages.CRITICAL)
    messages.disable_progress_bar()
    try:
        yield
    finally:
        messages.set_verbosity(level)
        if shown:
            messages.enable_progress_bar()
