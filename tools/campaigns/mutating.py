"""Mutations of files: by the bytes, and by what each format has."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import struct
import sys
import zipfile
from typing import Any

from tests.hostile_pickles import HOSTILE, beside_a_tensor

WHOLE = (0, 1, -1, 2, 7, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1,
         2**63, 2**64, -(2**63), 10**12, 10**400)  # fmt: skip
TEXTS = ("", "\x00", "\x1b[31mred", "<b>x</b>", "$\\frac{$b", "a" * 300, "../../x", "\ud800",
         "\u202ex", "a/[/b]", "x" * 100_000, "=1+1", "CON", "..", "é" * 200, "gpt2", "roberta",
         "clip", "marian", "(a+)+b", "F16", "BF16", "I64")  # fmt: skip


#: Stand for as many lists in dictionaries.
DEEP = ("@2", "@40", "@400", "@5000")


def _edge(made: random.Random) -> object:
    drawn = made.randrange(12)
    if drawn < 4:
        return made.choice(WHOLE)
    if drawn < 7:
        return made.choice(TEXTS)
    if drawn == 7:
        return made.choice(DEEP)
    if drawn == 8:
        return made.choice((float("nan"), float("inf"), 1e308, -0.5, 1e-300))
    if drawn == 9:
        return [made.choice(WHOLE)] * made.choice((1, 3, 17, 70, 50_000))
    return made.choice((None, True, False, [], {}, [None], {"": 0}))


def _places(value: object, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return all (container, key) of a JSON value."""
    waiting = [value]
    while waiting and len(found) <= 5_000:
        one = waiting.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one)  # type: ignore[arg-type]
        for key, inner in pairs:
            found.append((one, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    return found


def mutate_json(made: random.Random, raw: bytes) -> bytes:
    """Change some values of a JSON text: to edges, to copies of others, to more or none."""
    if made.random() < 0.2:
        return mutate_bytes(made, raw)
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        return mutate_bytes(made, raw)
    for _ in range(made.choice((1, 1, 1, 2, 5))):
        places = _places(content, []) if isinstance(content, dict | list) else []
        if len(places) > 5_000:  # repeated often enough
            break
        if not places or made.random() < 0.03:
            content = _edge(made)
            continue
        holder, key = made.choice(places)
        drawn = made.randrange(10)
        if drawn < 6:
            holder[key] = _edge(made)
        elif drawn == 6:
            del holder[key]
        elif drawn == 7:
            other, at = made.choice(places)
            with contextlib.suppress(KeyError, IndexError):
                holder[key] = json.loads(json.dumps(other[at]))
        elif drawn == 8 and isinstance(holder, dict):
            holder[made.choice(TEXTS)] = holder.pop(key)
        elif isinstance(holder, list):
            holder.extend([holder[key]] * made.choice((1, 10, 1000)))
    return _dump(content)


def _dump(content: object) -> bytes:
    """Return JSON with whole numbers of any length, lone surrogates, and deep lists."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        text = json.dumps(content, ensure_ascii=False)
    finally:
        sys.set_int_max_str_digits(before)
    for name in DEEP:
        depth = int(name[1:])
        text = text.replace(f'"{name}"', '{"a":[' * depth + "]}" * depth)
    return text.encode("utf-8", "surrogatepass")


def mutate_bytes(made: random.Random, raw: bytes) -> bytes:
    """Flip, cut, splice, repeat, and write integer edges into bytes."""
    data = bytearray(raw)
    for _ in range(made.choice((1, 1, 2, 4, 16))):
        if not data:
            return bytes(made.randbytes(made.choice((0, 1, 8, 64))))
        at, drawn = made.randrange(len(data)), made.randrange(9)
        end = min(len(data), at + made.choice((1, 4, 16, 100)))
        if drawn < 3:
            data[at] = made.randrange(256)
        elif drawn == 3:
            data[at] ^= 1 << made.randrange(8)
        elif drawn == 4:
            del data[at : len(data) if made.random() < 0.5 else end]
        elif drawn == 5:
            data[at:at] = data[at:end] * made.choice((1, 2, 50))
        elif drawn == 6:
            to = made.randrange(len(data))
            data[to : to + end - at] = data[at:end]
        elif drawn == 7:
            form, most = made.choice((("B", 8), ("H", 16), ("I", 32), ("Q", 64)))
            written = struct.pack(f"<{form}", made.choice(WHOLE) % 2**most)
            data[at : at + len(written)] = written
        else:
            data[at:at] = made.randbytes(made.choice((1, 8, 200)))
    return bytes(data)


def mutate_header(made: random.Random, raw: bytes) -> bytes:
    """Change the JSON header of a safetensors file, or any of its bytes."""
    length = int.from_bytes(raw[:8], "little")
    if made.random() < 0.3 or length > len(raw):
        return mutate_bytes(made, raw)
    header = mutate_json(made, raw[8 : 8 + length])
    return len(header).to_bytes(8, "little") + header + raw[8 + length :]


def mutate_zip(made: random.Random, raw: bytes) -> bytes:
    """Change an entry of an archive, its name, method, sizes or number; or any of the bytes."""
    if made.random() < 0.3:
        return mutate_bytes(made, raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
            method = archive.infolist()[0].compress_type if entries else zipfile.ZIP_STORED
    except Exception:
        return mutate_bytes(made, raw)
    drawn, at = made.randrange(9), made.randrange(max(1, len(entries)))
    if not entries:
        return mutate_bytes(made, raw)
    name, content = entries[at]
    if drawn < 4:
        entries[at] = name, mutate_of(made, name, content)
    elif drawn == 4:
        entries[at] = made.choice((*TEXTS[:12], entries[-1][0])), content
    elif drawn == 5:
        entries.append((name, made.choice(entries)[1]))
    elif drawn == 6:
        del entries[at]
    elif drawn == 7:
        entries[at] = name, content[:200] + bytes(made.choice((10**6, 80 * 10**6, 400 * 10**6)))
        method = zipfile.ZIP_DEFLATED
    else:
        entries += [(f"x{n}.npy", b"") for n in range(made.choice((10, 1000)))]
    if made.random() < 0.15:
        method = made.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method, compresslevel=1) as archive:
        for name, content in entries:
            with contextlib.suppress(UnicodeEncodeError, ValueError):
                archive.writestr(zipfile.ZipInfo(name[:60_000]), content, method)
        if made.random() < 0.1:
            info = made.choice(archive.infolist())
            info.file_size = abs(made.choice(WHOLE[:15]))
        if made.random() < 0.1:
            info = made.choice(archive.infolist())
            info.header_offset = abs(made.choice(WHOLE[:15]))
    return packed.getvalue()


OPERATIONS = (
    b"}", b"]", b")", b"(", b"t", b"\x85", b"\x86", b"2", b"0", b"1", b"R", b"b", b"s", b"u", b"a",
    b"e", b"Q", b"N", b"\x88", b"K\x01", b"J\xff\xff\xff\x7f", b"\x8a\x09" + b"\xff" * 9, b"q\x00",
    b"h\x00", b"h\x01", b"r\xff\xff\xff\xff", b"X\x01\x00\x00\x00a", b"X\xff\xff\xff\xff",
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ccollections\nOrderedDict\n", b"cbuiltins\nbytearray\n", b"\x81", b"\x92", b"o", b"\x93",
    b"\x8f", b"\x90", b"\x96\x00\x00\x00\x00\x01\x00\x00\x00", b"\x95" + b"\xff" * 8, b".", b"\x98",
    b"\x82\x01", b"i__main__\nx\n", b"I99999999999999999999\n", b"L5L\n", b"F1e999\n", b"S'a'\n",
)  # fmt: skip


def mutate_pickle(made: random.Random, raw: bytes) -> bytes:
    """Put operations of pickles anywhere, many times, or pickle what is large and small at once."""
    if made.random() < 0.3:
        return mutate_bytes(made, raw)
    drawn = made.randrange(7)
    if drawn == 2:
        return beside_a_tensor(b"0".join(made.choices(tuple(HOSTILE.values()), k=2)))
    if drawn == 0:
        inner: object = made.choice((1, {}, "a", ()))
        for _ in range(made.choice((20, 40, 200))):
            inner = {"x": inner, "y": inner} if made.random() < 0.9 else (inner, inner)
        return _pickled(inner)
    if drawn == 1:
        content: dict[Any, Any] = {}
        content["me"] = content
        return _pickled(content)
    data = bytearray(raw)
    for _ in range(made.choice((1, 2, 5))):
        at = made.randrange(len(data) + 1)
        written = b"".join(made.choices(OPERATIONS, k=made.choice((1, 1, 3))))
        data[at : at + made.choice((0, len(written)))] = written * made.choice((1, 1, 50, 20_000))
    return bytes(data)


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, protocol=2)
    except RecursionError:
        return b"]" * 1000 + b"."


def mutate_npy(made: random.Random, raw: bytes) -> bytes:
    """Write another header of an array, or change any bytes."""
    if made.random() < 0.5:
        return mutate_bytes(made, raw)
    kind = made.choice(("<f4", "|O", "|V0", "<U0", "<c8", ">f8", "|b1", "<M8[s]", "<f2", "<i8",
                        [("a", "<f4")], "<f4" * 99))  # fmt: skip
    sizes = tuple(
        made.choice((*WHOLE[:16], 8, 16, 16, 8)) for _ in range(made.choice((0, 1, 2, 2, 9, 70)))
    )
    header = repr({"descr": kind, "fortran_order": made.random() < 0.5, "shape": sizes})
    header = made.choice((header, header, header, "(" * 9000, "-" * 9000 + "1", header[:-5], "[]"))
    text = header.encode() + b"\n"
    version = made.choice((1, 1, 2, 3))
    length = struct.pack(
        "<H" if version == 1 else "<I", len(text) % 2 ** (16 if version == 1 else 32)
    )
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + raw[-512:]


def mutate_text(made: random.Random, raw: bytes) -> bytes:
    """Swap, repeat and replace parts of lines."""
    if made.random() < 0.4:
        return mutate_bytes(made, raw)
    lines = raw.decode("utf-8", "replace").split("\n")
    for _ in range(made.choice((1, 2, 4))):
        at, drawn = made.randrange(len(lines)), made.randrange(5)
        if drawn == 0:
            lines.insert(at, made.choice(lines) * made.choice((1, 1, 300)))
        elif drawn == 1 and len(lines) > 1:
            del lines[at]
        elif drawn == 2:
            text = made.choice(
                (*TEXTS, "[" * 5000, "9" * 5000, "{variance " * 5000, "](panel:" * 5000)
            )
            place = made.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + text + lines[at][place:]
        elif drawn == 3:
            lines[at], lines[0] = lines[0], lines[at]
        else:
            lines[at] = lines[at].replace("1", str(made.choice(WHOLE)))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def mutate_of(made: random.Random, name: str, content: bytes) -> bytes:
    """Change a file in a way that fits its format."""
    for ending, mutate in (
        (".json", mutate_json), (".safetensors", mutate_header), (".npy", mutate_npy),
        ((".pkl", ".metadata"), mutate_pickle), ("refs/main", mutate_text),
        ((".md", ".csv", ".tsv", ".txt"), mutate_text),
        ((".bin", ".pt", ".npz", ".helix", ".zip"), mutate_zip),
    ):  # fmt: skip
        if name.endswith(ending):
            return mutate(made, content)
    return mutate_bytes(made, content)
