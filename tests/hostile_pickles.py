"""Pickles that run something when Python unpickles them, or take its time or memory."""

import io
import struct
import zipfile

#: A tensor of 4 × 4 numbers, in the record "0".
TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x10tQK\x00K\x04K\x04\x86K\x04K\x01\x86\x89N}tR"
)
_TOUCH = b"(S'touch trace'\ntR"


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _call(dotted: str, args: bytes = b"(S'touch trace'\nt") -> bytes:
    module, _, name = dotted.rpartition(".")
    return f"c{module}\n{name}\n".encode() + args + b"R"


_SYSTEM = b"cos\nsystem\n"
_IMPORT_OS = b"cbuiltins\n__import__\n(S'os'\ntR"

#: Each is called with a command.
CALLED = """
os.system posix.system nt.system os.popen os.mkdir subprocess.Popen subprocess.check_output
builtins.eval builtins.exec builtins.open builtins.compile builtins.__import__ __builtin__.eval
importlib.import_module runpy.run_path code.interact pickle.loads _pickle.loads marshal.loads
ctypes.CDLL webbrowser.open numpy.testing._private.utils.runstring torch.load torch.hub.load
numpy.load numpy.f2py.crackfortran.myeval pty.spawn shutil.rmtree socket.create_connection pip.main
copyreg.add_extension __main__.Net torch.nn.modules.linear.Linear
torch._utils._rebuild_wrapper_subclass collections.OrderedDict collections.defaultdict numpy.dtype
_codecs.encode pathlib.PosixPath torch.Size numpy.core.multiarray.scalar
"""
#: Each puts one value on the stack.
RUN_SOMETHING = {
    **{f"{name}()": _call(name) for name in CALLED.split()},
    "getattr of an imported module":
        b"cbuiltins\ngetattr\n(" + _IMPORT_OS + b"S'system'\ntR" + _TOUCH,
    "__getattr__": b"cm\nC\n)\x81}(S'__getattr__'\n" + _SYSTEM + b"ub",
    "a dotted name": _text("os") + _text("path.os.system") + b"\x93" + _TOUCH,
    "inst": b"(S'touch trace'\nios\nsystem\n",
    "obj": b"(" + _SYSTEM + b"S'touch trace'\no",
    "newobj": _SYSTEM + b"(S'touch trace'\nt\x81",
    "newobj with keywords": b"csubprocess\nPopen\n((S'touch'\nlt}S'shell'\n\x88s\x92",
    "__setstate__ of a dictionary": b"}(S'__setstate__'\n" + _SYSTEM + b"uS'touch trace'\nb",
    "__setstate__ in a state":
        b"cm\nC\n)\x81}(S'__setstate__'\n" + _SYSTEM + b"ubS'touch trace'\nb",
    "__reduce__": b"cm\nC\n)\x81}(S'__reduce__'\n" + _SYSTEM + b"ub",
    "a state with slots": b"cm\nC\n)\x81N}S'__class__'\n" + _SYSTEM + b"s\x86b",
    "a state of a function": _SYSTEM + b"}S'__call__'\n" + _SYSTEM + b"sb",
    "a state of a tensor's function":
        b"ctorch._utils\n_rebuild_tensor_v2\n}S'x'\n" + _SYSTEM + b"sb",
    "a state of a tensor": TENSOR + b"}S'shape'\n" + _SYSTEM + b"sb",
    "_reconstructor": b"ccopyreg\n_reconstructor\n(" + _SYSTEM + b"cbuiltins\nobject\nNtR",
    "__newobj__": b"ccopyreg\n__newobj__\n(csubprocess\nPopen\nS'touch trace'\ntR",
    "a tensor of a type": b"ctorch._tensor\n_rebuild_from_type_v2\n(" + _SYSTEM
        + b"cm\nC\n(S'touch trace'\nt}tR",
    "a tensor of a stand-in": b"ctorch._utils\n_rebuild_tensor_v2\n(" + _SYSTEM + b"NNNNtR",
    "a parameter": b"ctorch._utils\n_rebuild_parameter\n(" + _SYSTEM + b"\x88}tR" + _TOUCH,
    "an OrderedDict of pairs": b"ccollections\nOrderedDict\n(((S'a'\nK\x01lltR",
    "a defaultdict": b"ccollections\ndefaultdict\n" + _SYSTEM + b"\x85R",
    "a dtype of objects": b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'O8'\ntRNtR",
    "a partial":
        b"cfunctools\npartial\n(" + _SYSTEM + b"S'touch trace'\ntR)R",
    "a methodcaller": b"coperator\nmethodcaller\n(S'system'\nS'touch trace'\ntR" + _IMPORT_OS
        + b"\x85R",
    "a persistent function": _SYSTEM + b"Q",
    "a persistent text": b"Pos.system\n",
    "a storage of a function": b"(S'storage'\n" + _SYSTEM + b"S'0'\nS'cpu'\nK\x01tQ",
    "the result of a call, called": _SYSTEM + _TOUCH + _TOUCH,
    "a list, called": b"]" + _TOUCH,
    "append of a function": _SYSTEM + b"K\x01a",
    "items of a function": _SYSTEM + b"S'a'\nK\x01s",
}  # fmt: skip

#: Refer to something that is not in the file, or break off.
REFUSED = {
    "extension 1": b"\x82\x01" + _TOUCH,
    "extension 2": b"\x83\x01\x00" + _TOUCH,
    "extension 4": b"\x84\x01\x00\x00\x00" + _TOUCH,
    "a buffer": b"\x97",
    "a read-only buffer": b"\x97\x98",
    "a text that ends later": b"X\xff\xff\xff\xff",
    "bytes of 2⁴⁰": b"\x96" + struct.pack("<Q", 2**40),
    "a long number that ends later": b"\x8b\xff\xff\xff\x7f",
    "a memo that is not there": b"h\x07",
    "operations without end": b"N0" * 1_000_000 + b"N",
}

#: Cost time or memory.
COSTLY = {
    "a memo of 2³²": b"Nr\xff\xff\xff\xff",
    "nested lists": b"]" * 100_000 + b"a" * 99_999,
    "nested tuples": b"N" + b"\x85" * 100_000,
    "nested tuples as a key": b"})" + b"2\x86" * 60 + b"K\x01s",
    "a list of itself": b"]2a",
    "a large number": b"\x8b" + struct.pack("<I", 10**6) + b"\x7f" * 10**6,
    "a large number as text": b"I" + b"9" * 4000 + b"\n",
    "a large number as a key": b"}L" + b"9" * 4000 + b"L\nNs",
    "lists of lists of lists": b"]q\x00" + b"0](h\x00h\x00h\x00h\x00eq\x00" * 10_000,
    "dictionaries of two": b"}q\x00" + b"0}(S'a'\nh\x00S'b'\nh\x00uq\x00" * 10_000,
    "arguments shared by all calls":
        _SYSTEM + b"q\x00(" + b"N" * 1000 + b"tq\x010" + b"h\x00h\x01R0" * 100_000,
    "a path shared by all calls": b"cpathlib\nPosixPath\nq\x00(" + _text("a" * 100_000)
        + b"tq\x0100(" + b"h\x00h\x01R" * 100_000 + b"l",
    "a shape shared by all tensors": b"ctorch._utils\n_rebuild_tensor_v2\nq\x00(NK\x00("
        + b"K\x01" * 100_000 + b"l2N}tq\x010" + b"h\x00h\x01R0" * 100_000,
    "a memo of equal hashes":
        b"N" + b"".join(b"p%d\n" % (k * (2**61 - 1)) for k in range(50_000)),
    "a byte order in a tuple shared by all numbers": b"cnumpy\ndtype\n(S'f8'\ntR("
        + b"N" * 30_000 + b"tbq\x00cnumpy.core.multiarray\nscalar\nq\x01h\x00C\x08" + b"\0" * 8
        + b"\x86q\x0200h\x01h\x02R" + b"0h\x01h\x02R" * 100_000,
    "a list shared by all entries": b"](" + b"N" * 1000 + b"eq\x000}("
        + b"".join(b"X\x05\0\0\0%05dh\0" % n for n in range(100_000)) + b"u",
}  # fmt: skip

HOSTILE = {**RUN_SOMETHING, **REFUSED, **COSTLY}


def beside_a_tensor(value: bytes) -> bytes:
    """Return a pickle with a table of positions, and a value beside it."""
    return b"\x80\x02}(" + _text("wpe.weight") + TENSOR + _text("x") + value + b"u."


def torch_file(pickled: bytes) -> bytes:
    """Return a file as torch writes it, with a pickle of one's own."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in {"data.pkl": pickled, "data/0": bytes(64), "version": b"3\n"}.items():
            archive.writestr(f"archive/{name}", content)
    return packed.getvalue()
