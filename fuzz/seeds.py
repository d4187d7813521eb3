#!/usr/bin/env python3
"""fuzz/seeds.py

Writes the seeds of the fuzz targets to fuzz/corpus: modules of the tests, each with numbers of the generator that select
the ways of the target `spirv`, small meshes, reports, settings and stream outputs that the parsers take, and bytes for the
targets that make their input of bytes. What fuzzing found is beside them, with names of libFuzzer's: the script leaves
that alone.
"""

import base64
import json
import struct
from pathlib import Path

FUZZ = Path(__file__).parent
ROOT = FUZZ.parent


def seed(target, name, content):
    directory = FUZZ / "corpus" / target
    directory.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode()
    (directory / name).write_bytes(content)


def modules():
    small = ["evaluation", "fragment", "narrow", "specialized", "streams", "two"]
    files = [ROOT / f"tests/fuzz/seeds/{name}.spv" for name in small]
    files += [ROOT / f"shaders/probe/{name}.spv" for name in ("identify", "patch", "patch_lines", "two_buffers")]
    files += [ROOT / "shaders/bench/stream.spv"]
    ways = {"fragment": (9,), "patch": (0, 15), "patch_lines": (7, 15), "streams": (7, 15), "evaluation": (4, 15)}
    for file in files:
        words = file.read_bytes()
        for way in ways.get(file.stem, (0, 4, 12, 14)):
            seed("spirv", f"{file.stem}-{way}.spv", words[:8] + struct.pack("<I", way) + words[12:])


def ply():
    square = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]

    def file(encoding, vertices, faces):
        header = (
            f"ply\nformat {encoding} 1.0\ncomment a square\nelement vertex 4\nproperty float x\nproperty double y\n"
            "property uchar red\nproperty int id\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
        return header.encode() + vertices + faces

    text = "".join(f"{x} {y} 255 {-n}\n" for n, (x, y) in enumerate(square)).encode()
    seed("ply", "text.ply", file("ascii", text, b"4 0 1 3 2\n"))
    for name, order in (("little", "<"), ("big", ">")):
        vertices = b"".join(struct.pack(order + "fdBi", x, y, 255, -n) for n, (x, y) in enumerate(square))
        seed("ply", f"{name}.ply", file(f"binary_{name}_endian", vertices, struct.pack(order + "B4i", 4, 0, 1, 3, 2)))
    seed("ply", "points.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty short x\nproperty list uchar float tags\n"
         "property ushort alpha\nelement face 0\nproperty list uint8 uint32 vertex_index\nend_header\n7 2 1.5 -2 65535\n")


def obj():
    seed("obj", "square.obj", "# a square\nmtllib a.mtl\no square\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\n"
         "v 1 1 0 1 1 1\nvn 0 0 1\nvt 0 0\nvt 1 1\nusemtl a\ns off\nf 1/1/1 2/2/1 4/2/1 3/1/1\n")
    seed("obj", "two.obj", "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\ng b\nv 1 1 1\nvn 0 1 0\nf -1//-1 2//1 3//1\nl 1 2\np 1\n")
    seed("obj", "continued.obj", "v 0 0 0\nv 1 0 \\\n0\nv 0 1e3 -.5\nvt 0 1\nf 1/1 2/1 \\\n3/1\n")


def csv():
    seed("csv", "ints.csv", "x,y,z,id\n0,1,2,-3\n4,5,6,170141183460469231731687303715884105727\n")
    seed("csv", "floats.csv", "position.x, position.y ,w[0],w[1]\r\n1,2.5,1e300,nan\r\n3,-0,inf,7\r\n")
    seed("csv", "quoted.csv", '"a_x","a_y","say ""b"""\n"1","2","3"\n\n4,5,6\n')


def gltf():
    floats = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    indices = struct.pack("<3H", 0, 1, 2) + b"\0\0"
    times = struct.pack("<2f", 0, 1)
    moves = struct.pack("<6f", 0, 0, 0, 0, 0, 2)
    turns = struct.pack("<8f", 0, 0, 0, 1, 0, 1, 0, 0)
    joints = bytes([0, 0, 0, 0] * 3)
    weights = struct.pack("<12f", *[1, 0, 0, 0] * 3)
    matrix = struct.pack("<16f", *[float(n % 5 == 0) for n in range(16)])
    parts = [floats, indices, times, moves, turns, joints, weights, matrix]
    data, views = b"", []
    for part in parts:
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(part)})
        data += part

    def accessor(view, kind, component, count, **more):
        return {"bufferView": view, "type": kind, "componentType": component, "count": count, **more}

    bounds = {"min": [0, 0, 0], "max": [1, 1, 0]}
    accessors = [
        accessor(0, "VEC3", 5126, 3, **bounds), accessor(1, "SCALAR", 5123, 3),
        accessor(2, "SCALAR", 5126, 2, min=[0], max=[1]), accessor(3, "VEC3", 5126, 2), accessor(4, "VEC4", 5126, 2),
        accessor(5, "VEC4", 5121, 3), accessor(6, "VEC4", 5126, 3), accessor(7, "MAT4", 5126, 1),
    ]

    def scene(buffer, primitive, **more):
        return {
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "buffers": [{"byteLength": len(data), **buffer}], "bufferViews": views, "accessors": accessors,
            "meshes": [{"primitives": [primitive]}], "nodes": [{"mesh": 0, "scale": [1, 2, 1]}], **more,
        }

    inline = {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}

    def compact(value):
        return json.dumps(value, separators=(",", ":"))

    plain = {"attributes": {"POSITION": 0, "NORMAL": 0}, "indices": 1, "mode": 5}
    seed("gltf", "triangle.gltf", compact(scene(inline, plain)))
    skinned = {"attributes": {"POSITION": 0, "JOINTS_0": 5, "WEIGHTS_0": 6}}
    animated = scene(
        inline, skinned, nodes=[{"mesh": 0, "skin": 0, "children": [1]}, {"translation": [0, 1, 0]}],
        skins=[{"joints": [1], "inverseBindMatrices": 7}],
        animations=[{
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}},
                         {"sampler": 1, "target": {"node": 1, "path": "rotation"}}],
            "samplers": [{"input": 2, "output": 3}, {"input": 2, "output": 4, "interpolation": "STEP"}],
        }])
    seed("gltf", "animated.gltf", compact(animated))
    sparse = {"count": 1, "indices": {"bufferView": 1, "componentType": 5123}, "values": {"bufferView": 0}}
    value = scene(inline, {"attributes": {"POSITION": 8}, "mode": 6})
    value["accessors"] = accessors + [{"type": "VEC3", "componentType": 5126, "count": 4, "sparse": sparse, **bounds}]
    seed("gltf", "sparse.gltf", compact(value))
    seed("gltf", "beside.gltf", compact(scene({"uri": "the%20buffer.bin"}, plain)))
    text = compact(scene({}, plain)).encode()
    text += b" " * (-len(text) % 4)
    binary = data + b"\0" * (-len(data) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    seed("gltf", "triangle.glb", struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)


def reports():
    def results(backend, **lists):
        return {"backend": backend, "topology": "triangle-list", "shader": "identify", "provoking": "first",
                "specialized": True, **lists}

    def report(device, *every):
        return {
            "device": {"name": "Mali-G52", "driver": "panvk", "driver_version": "25.0.7", "api_version": "1.0.335",
                       "vendor_id": 5045, "device_id": device, "limits": {"maxPushConstantsSize": "128"}},
            "host": {"os": "linux", "architecture": "aarch64", "cpu": "A53", "memory_kib": 1048576},
            "command": "vkxfb probe --json", "profile": "", "resources": "",
            "trials": [{"trial": trial, "result": "works", "text": ""} for trial in ("indirect-dispatch", "speed")],
            "results": list(every),
        }

    def whole(*reports):
        return json.dumps({"schema": 1, "tool_version": "0.1.0", "outcome": "all-right", "reports": list(reports)})

    first = results("compute", right="1x1 3x1 7x3", wrong="9x1", not_run="4294967295x2")
    second = results("vertex", geometry="points", right="3x1")
    seed("report", "sample.json", whole(report(1, first, second)))
    seed("report", "two.json", whole(report(1, first), report(2, second)))
    text = whole(report(1, results("native", right="1x1")))
    seed("report", "report.md", f"# A report\n\n```json\nnot this\n```\n\n````json\n{text}\n````\n")


def settings():
    seed("settings", "all.txt", "# settings\nvkxfb_transform_feedback.force_enable = true\n"
         "VKXFB_TRANSFORM_FEEDBACK.log = vkxfb_layer::device=debug,info\n"
         "vkxfb_transform_feedback.optimize_shaders = 0 # none\nvkxfb_transform_feedback.replace_partial=1\n"
         "khronos_validation.enables = x\n")
    seed("settings", "wrong.txt", "vkxfb_transform_feedback.force_enable = maybe\nvkxfb_transform_feedback.no = 1\n=\n.\n"
         "vkxfb_transform_feedback.log = a[b{c=\"d\"}]=trace\nvkxfb_transform_feedback.withhold_passes")
    seed("settings", "spaces.txt", "vkxfb_transform_feedback.log = warn, \u00e9t\u00e9=debug\n")
    seed("settings", "expression.txt", f"vkxfb_transform_feedback.log = a[b{{c=.*a{'.' * 26}}}]=trace\n")


def stream_outputs():
    def output(register, start, count, buffer, offset, **more):
        return {"register_index": register, "start_component": start, "num_components": count, "output_buffer": buffer,
                "dst_offset": offset, **more}

    position = {"strides": [8], "outputs": [output(0, 0, 4, 0, 0), output(1, 0, 4, 0, 4)]}
    seed("stream_output", "position.json", json.dumps(position))
    several = {"strides": [4, 2], "outputs": [output(1, 0, 1, 1, 0, stream=0), output(0, 1, 2, 0, 2)],
               "locations": "unpacked", "outputs_written": 8589934593}
    seed("stream_output", "several.json", json.dumps(several))


def bytes_of_targets():
    for target in ("captures", "pipelines", "rewrite", "stream_output"):
        for number in range(4):
            # Any bytes would do: every input of these targets means something.
            seed(target, f"bytes-{number}", bytes((number * 31 + at * (2 * number + 5)) % 256 for at in range(96)))


for write in (modules, ply, obj, csv, gltf, reports, settings, stream_outputs, bytes_of_targets):
    write()
