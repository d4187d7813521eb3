"""streams.py SHADER

Moves the declarations of outputs in a geometry shader of Direct3D 11 behind that of their stream, in place. So Microsoft's
compiler writes them and DXVK takes them; vkd3d's declares all streams first.
"""

import ctypes
import pathlib
import struct
import sys

DCL_OUTPUT, DCL_OUTPUT_SGV, DCL_OUTPUT_SIV, DCL_STREAM = 101, 102, 103, 143


class Code(ctypes.Structure):
    """`vkd3d_shader_code`."""

    _fields_ = [("code", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Section(ctypes.Structure):
    """`vkd3d_shader_dxbc_section_desc`."""

    _fields_ = [("tag", ctypes.c_char * 4), ("data", Code)]


def sections_of(file):
    """The sections of a container, tags and data."""
    (count,) = struct.unpack_from("<I", file, 28)
    for offset in struct.unpack_from(f"<{count}I", file, 32):
        tag, size = struct.unpack_from("<4sI", file, offset)
        yield tag, file[offset + 8 : offset + 8 + size]


def container(sections):
    """A container with a checksum, as vkd3d makes it."""
    buffers = [ctypes.create_string_buffer(data, len(data)) for _, data in sections]
    array = (Section * len(sections))(
        *(Section(tag, Code(ctypes.addressof(b), len(b))) for (tag, _), b in zip(sections, buffers))
    )
    made = Code()
    vkd3d = ctypes.CDLL("libvkd3d-shader.so.1")
    result = vkd3d.vkd3d_shader_serialize_dxbc(ctypes.c_size_t(len(sections)), array, ctypes.byref(made), None)
    assert result == 0, result
    return ctypes.string_at(made.code, made.size)


def reordered(code, streams):
    """Instructions with the declarations in the other order. `streams` has the stream of each output."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    instructions = []
    at = 2
    while at < words[1]:
        length = words[at] >> 24 & 0x7F
        instructions.append(words[at : at + length])
        at += length
    declares = (DCL_OUTPUT, DCL_OUTPUT_SGV, DCL_OUTPUT_SIV)
    outputs = [i for i in instructions if i[0] & 0x7FF in declares]
    assert len(outputs) == len(streams), "a declaration for each output"
    moved = [*words[:2]]
    for instruction in instructions:
        if instruction[0] & 0x7FF not in declares:
            moved += instruction
        if instruction[0] & 0x7FF == DCL_STREAM:
            # The operand is the number of the stream.
            for output, stream in zip(outputs, streams):
                moved += output if stream == instruction[-1] else ()
    return struct.pack(f"<{len(moved)}I", *moved)


path = pathlib.Path(sys.argv[1])
sections = list(sections_of(path.read_bytes()))
signature = dict(sections)[b"OSG5"]
(count,) = struct.unpack_from("<I", signature)
# Each output begins with its stream, and has seven words.
streams = [struct.unpack_from("<I", signature, 8 + 28 * i)[0] for i in range(count)]
path.write_bytes(
    container([(tag, reordered(data, streams) if tag in (b"SHDR", b"SHEX") else data) for tag, data in sections])
)
