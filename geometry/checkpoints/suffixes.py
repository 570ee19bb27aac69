"""Suffixes of the files that are opened."""

SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".npy", ".npz")
GGUF = ".gguf"
LOCAL_SUFFIXES = (*SUFFIXES, GGUF)
"""Suffixes of files on disk; on the Hub, a model has a GGUF file for each quantisation."""
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".vec", ".parquet", ".feather", ".arrow")
"""Suffixes of tables of numbers with labels."""
OPENVINO = ".xml"
"""Suffix of a graph for OpenVINO; its numbers are beside it, in a .bin file of the same name."""
PICKLES = (".pkl", ".pickle")
SCRIPT_SUFFIXES = (
    *(".ckpt", ".pth.tar"),  # of PyTorch Lightning and timm
    *(".index", ".h5", ".hdf5", ".keras", ".msgpack", ".onnx"),
    *(*PICKLES, OPENVINO, ".nemo"),
    ".ot",  # of tch, in Rust
)
"""Suffixes of weights that are used if there are no others."""
ARCHIVES = (".tar", ".zip")
"""Suffixes of archives, which are used if there are no weights."""
FILE_SUFFIXES = (*LOCAL_SUFFIXES, *SCRIPT_SUFFIXES, *ARCHIVES, *TABLE_SUFFIXES)
"""Suffixes by which a text is a file's name, and not a model's id."""
