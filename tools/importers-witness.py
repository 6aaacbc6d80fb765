"""Godot 3 and Assimp as witnesses: what do their importers make of a model's morph targets?

    python3 tools/importers-witness.py model.glb …

Godot imports each GLB as its editor does, and a script writes down the blend shapes that it has then. Assimp
imports it and writes what it has then as another GLB; it aborts at some extras that the specification allows. Every
position and every displacement of every vertex must be the one in the file. Needs Debian's `godot3`, `assimp-utils`
and `xvfb`, and numpy. Prints one line per file and program; exit code 1 when one disagrees.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from glb import Disagreement, Glb, size_of

# Largest difference of a position or displacement that is allowed, in sizes of the model.
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


def shapes_of(path):
    """Positions [vertex, 3] and displacements [target, vertex, 3] of each primitive that a node shows."""
    glb = Glb(path)
    return [glb.shape(primitive) for primitive in glb.primitives()]


def run(*command):
    """Exit code and output of a program."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout


def godot(path):
    """What Godot has of a file, as `shapes_of` gives it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "project.godot").write_text(PROJECT)
        (folder / "dump.gd").write_text(DUMP)
        (folder / "model.glb").write_bytes(path.read_bytes())
        # The editor imports all files of a project before it quits; it may then end with an error of its own.
        for arguments in (["--editor", "--quit"], ["--no-window", "-s", "dump.gd"]):
            run("xvfb-run", "-a", "godot3", *arguments, "--path", str(folder))
        dump = folder / "shapes.json"
        if not dump.exists():
            raise Disagreement("nothing is imported")
        surfaces = json.loads(dump.read_text())
    found = []
    for surface in surfaces:
        base = np.array(surface["base"]).reshape(-1, 3)
        shapes = np.array(surface["shapes"]).reshape(len(surface["shapes"]), -1, 3)
        found.append((base, shapes - base if surface["mode"] == 0 else shapes))
    return found


def assimp(path):
    """What Assimp has of a file, as `shapes_of` gives it."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again.glb"
        code, _ = run("assimp", "export", str(path), str(again), "-fglb2")
        if code != 0 or not again.exists():
            raise Disagreement(f"it cannot be written again (exit code {code})")
        return shapes_of(again)


def compare(found, expected):
    """Largest difference of a position or a displacement, in sizes, and how many targets were compared."""
    if [targets.shape for _, targets in found] != [targets.shape for _, targets in expected]:
        raise Disagreement(f"targets, vertices: {[targets.shape[:2] for _, targets in found]} instead of "
                           f"{[targets.shape[:2] for _, targets in expected]}")
    worst = 0.0
    for (base, targets), (true_base, true_targets) in zip(found, expected):
        for differences in (base - true_base, targets - true_targets):
            worst = max(worst, np.linalg.norm(differences, axis=-1).max(initial=0.0) / size_of(true_base))
    return worst, sum(len(targets) for _, targets in expected)


def main(paths):
    if not paths:
        sys.exit("usage: importers-witness.py MODEL.glb…")
    version = re.search(r"Version (\S+)", run("assimp", "version")[1])
    programs = {
        f"Godot {run('godot3', '--version')[1].split()[-1]}": godot,
        f"Assimp {version[1] if version else ''}": assimp,
    }
    failed = False
    for path in map(Path, paths):
        expected = shapes_of(path)
        for name, imported in programs.items():
            try:
                worst, compared = compare(imported(path), expected)
                line = f"{compared} targets, largest difference / size {worst:.1e}"
                if not worst <= TOLERANCE:
                    raise Disagreement(f"{line}: {TOLERANCE} is allowed")
                print(f"{name}: {path.name}: {line}", flush=True)
            except Disagreement as problem:
                failed = True
                print(f"{name} disagrees: {path.name}: {problem}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
