"""Godot 3 and Assimp as witnesses: what do their importers make of a model's morph targets?

    python3 tools/importers-witness.py model.glb …

Godot imports each GLB as its editor does, and a script writes down the blend shapes that it has then. Every
displacement of every vertex must be the one in the file. Assimp must be able to write the file again; it aborts
at some extras that the specification allows. Needs Debian's `godot3`, `assimp-utils` and `xvfb`, and numpy. Prints
one line per file and program; exit code 1 when one disagrees.
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

# Largest difference of a displacement that is allowed, in sizes of the model.
TOLERANCE = 1e-4

PROJECT = """config_version=4
[application]
config/name="witness"
[rendering]
quality/driver/driver_name="GLES2"
"""

# Godot keeps blend shapes as whole shapes (mode 0) or as displacements (mode 1).
DUMP = """extends SceneTree

func meshes(node, found):
    if node is MeshInstance: found.append(node.mesh)
    for child in node.get_children(): meshes(child, found)
    return found

func numbers(vectors):
    var flat = []
    for v in vectors: flat += [v.x, v.y, v.z]
    return flat

func _init():
    var surfaces = []
    for mesh in meshes(load("res://model.glb").instance(), []):
        for surface in range(mesh.get_surface_count()):
            var shapes = []
            for arrays in mesh.surface_get_blend_shape_arrays(surface): shapes.append(numbers(arrays[Mesh.ARRAY_VERTEX]))
            surfaces.append({"base": numbers(mesh.surface_get_arrays(surface)[Mesh.ARRAY_VERTEX]), "shapes": shapes,
                "mode": mesh.get_blend_shape_mode()})
    var file = File.new()
    file.open("res://shapes.json", File.WRITE)
    file.store_string(to_json(surfaces))
    file.close()
    quit()
"""


class Disagreement(Exception):
    pass


def vectors(document, binary, index):
    """The VEC3 accessor of that index as floats [element, 3]."""
    accessor = document["accessors"][index]
    values = np.zeros((accessor["count"], 3), np.float32)

    def start(place):
        return document["bufferViews"][place["bufferView"]].get("byteOffset", 0) + place.get("byteOffset", 0)

    if "bufferView" in accessor:
        stride = document["bufferViews"][accessor["bufferView"]].get("byteStride", 12)
        first = start(accessor)
        for element in range(len(values)):
            values[element] = np.frombuffer(binary, np.float32, 3, first + element * stride)
    if "sparse" in accessor:
        sparse = accessor["sparse"]
        kind = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32}[sparse["indices"]["componentType"]]
        places = np.frombuffer(binary, kind, sparse["count"], start(sparse["indices"]))
        values[places] = np.frombuffer(binary, np.float32, 3 * sparse["count"], start(sparse["values"])).reshape(-1, 3)
    return values


def primitives(path):
    """Positions [vertex, 3] and displacements [target, vertex, 3] of each primitive that a node shows."""
    data = path.read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    document, binary = json.loads(data[20:20 + length]), data[28 + length:]
    shown = [node["mesh"] for node in document["nodes"] if "mesh" in node]
    for primitive in (p for mesh in shown for p in document["meshes"][mesh]["primitives"]):
        read = lambda accessor: vectors(document, binary, accessor)
        yield read(primitive["attributes"]["POSITION"]), [read(t["POSITION"]) for t in primitive["targets"]]


def godot(path):
    """Largest difference of a displacement, in sizes, and how many were compared."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "project.godot").write_text(PROJECT)
        (folder / "dump.gd").write_text(DUMP)
        (folder / "model.glb").write_bytes(path.read_bytes())
        # The editor imports all files of a project before it quits; it may then end with an error of its own.
        for arguments in (["--editor", "--quit"], ["--no-window", "-s", "dump.gd"]):
            command = ["xvfb-run", "-a", "godot3", *arguments, "--path", str(folder)]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
        dump = folder / "shapes.json"
        if not dump.exists():
            raise Disagreement("Godot has imported nothing")
        surfaces = json.loads(dump.read_text())
    expected = list(primitives(path))
    if len(surfaces) != len(expected):
        raise Disagreement(f"Godot has {len(surfaces)} surfaces, the file {len(expected)} primitives")
    worst, compared = 0.0, 0
    for surface, (base, targets) in zip(surfaces, expected):
        size = np.linalg.norm(base.max(0) - base.min(0))
        found_base = np.array(surface["base"]).reshape(-1, 3)
        if len(found_base) != len(base) or len(surface["shapes"]) != len(targets):
            raise Disagreement(f"Godot has {len(found_base)} vertices and {len(surface['shapes'])} shapes, "
                               f"the file {len(base)} and {len(targets)}")
        for shape, target in zip(surface["shapes"], targets):
            found = np.array(shape).reshape(-1, 3) - (found_base if surface["mode"] == 0 else 0.0)
            worst = max(worst, np.linalg.norm(found - target, axis=1).max() / size)
            compared += 1
    return worst, compared


def assimp(path):
    """Whether Assimp can write the file again."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["assimp", "export", str(path), str(Path(folder) / "again.glb"), "-fglb2"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
        if done.returncode != 0:
            raise Disagreement(f"Assimp cannot write it again (exit code {done.returncode})")


def main(paths):
    failed = False
    for path in map(Path, paths):
        try:
            worst, compared = godot(path)
            agrees = worst <= TOLERANCE
            failed |= not agrees
            print(f"Godot{'' if agrees else ' disagrees'}: {path.name}: {compared} targets, largest difference / size {worst:.1e}")
            assimp(path)
            print(f"Assimp: {path.name}: read and written again")
        except Disagreement as problem:
            failed = True
            print(f"{path.name}: {problem}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
