"""Blender as a witness: does it show a baked GLB as `eigenskin bake --write-obj` does?

    eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
    python3.11 tools/blender-witness.py w/grasp.glb

Each GLB is imported with Blender's default settings; its OBJ folder and JSON lie beside it under
the same name. Every frame of the clip is evaluated by Blender and compared vertex by vertex. Needs
`pip install 'bpy==4.5.*'` (Python 3.11). Prints one line per file; exit code 1 when one disagrees.
"""

import json
import logging
import os
import sys
from pathlib import Path

import bpy
import numpy as np

# Largest distance allowed, in sizes of the model.
TOLERANCE = 1e-4
# A weight that is on, and not a rounding error.
ON = 1e-3


class Disagreement(Exception):
    pass


def read_obj(path):
    """Positions [vertex, 3] and triangles [triangle, 3] of an OBJ."""
    positions, triangles = [], []
    for line in path.read_text().splitlines():
        kind, *words = line.split()
        if kind == "v":
            positions.append([float(word) for word in words])
        elif kind == "f":
            triangles.append([int(word.split("/")[0]) - 1 for word in words])
    return np.array(positions), np.array(triangles)


def import_glb(path):
    """The one mesh object of the file, in a scene that holds nothing else."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    before = set(bpy.data.objects)
    bpy.ops.import_scene.gltf(filepath=str(path))
    # The importer adds a mesh that draws the bones; it is in no file.
    shapes = {bone.custom_shape for o in bpy.data.objects if o.pose for bone in o.pose.bones}
    meshes = [o for o in bpy.data.objects if o.type == "MESH" and o not in before | shapes]
    if len(meshes) != 1:
        raise Disagreement(f"Blender has {len(meshes)} meshes where the file has one")
    return meshes[0]


def posed_positions(mesh_object):
    """Positions [vertex, 3] at the current frame, in the scene of the file: y up."""
    evaluated = mesh_object.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    local = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", local)
    evaluated.to_mesh_clear()
    world = np.array(evaluated.matrix_world)
    x, y, z = (local.reshape(-1, 3).astype(float) @ world[:3, :3].T + world[:3, 3]).T
    return np.stack([x, z, -y], axis=1)


def triangles_of(mesh):
    """Vertices of the faces [triangle, 3], in Blender's order."""
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    if any(polygon.loop_total != 3 for polygon in mesh.polygons):
        raise Disagreement("Blender has faces that are no triangles")
    return corners.reshape(-1, 3)


def weights_of(mesh):
    """Morph weights [target] at the current frame, as Blender uses them."""
    keys = mesh.shape_keys.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [key.value for key in list(keys.key_blocks)[1:]]


def keyed_weights(raw, document, count):
    """The keys of the first clip's morph weights [key, target], as they stand in a GLB."""
    clip = document["animations"][0]
    channel = next(channel for channel in clip["channels"] if channel["target"]["path"] == "weights")
    accessor = document["accessors"][clip["samplers"][channel["sampler"]]["output"]]
    view = document["bufferViews"][accessor["bufferView"]]
    start = 28 + int.from_bytes(raw[12:16], "little") + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    return np.frombuffer(raw, "<f4", accessor["count"], start).reshape(-1, count)


def sign_changes(names, weights):
    """How many coordinates use their positive and their negative target at different frames, from
    the names of the targets and the weights [frame, target]."""
    if len(names) != weights.shape[1]:
        raise Disagreement(f"Blender has {weights.shape[1]} shape keys, the file {len(names)} targets")
    changing = 0
    for index in range(len(names) - 1):
        if names[index].endswith("_pos") and names[index + 1] == names[index][:-4] + "_neg":
            positive, negative = weights[:, index] > ON, weights[:, index + 1] > ON
            if (positive & negative).any():
                raise Disagreement(f"{names[index]} and its negative target act together")
            changing += int(positive.any() and negative.any())
    return changing


def witness(path):
    """Compares a file with its shapes: the line to print, and how many coordinates change sign."""
    baked = json.loads(path.with_suffix(".json").read_text())
    shapes = sorted(path.with_suffix("").glob("frame-*.obj"))
    if len(shapes) != len(baked["times"]):
        raise Disagreement(f"{len(shapes)} OBJs for {len(baked['times'])} frames")
    raw = path.read_bytes()
    document = json.loads(raw[20 : 20 + int.from_bytes(raw[12:16], "little")])
    if len(document["animations"]) != 1:
        raise Disagreement(f"{len(document['animations'])} clips; one is expected")
    mesh_object = import_glb(path)
    render = bpy.context.scene.render
    rate = render.fps / render.fps_base
    triangles = triangles_of(mesh_object.data)
    largest, where, weights = 0.0, (0, 0), []
    for frame, (time, shape) in enumerate(zip(baked["times"], shapes)):
        whole, part = divmod(time * rate, 1.0)
        if min(part, 1.0 - part) < 1e-4:
            whole, part = round(time * rate), 0.0
        bpy.context.scene.frame_set(int(whole), subframe=part)
        expected, expected_triangles = read_obj(shape)
        # Equal faces of equal vertex numbers: then vertex i here is vertex i there.
        if not np.array_equal(triangles, expected_triangles):
            raise Disagreement("Blender numbers the vertices or faces otherwise than the file")
        shown = posed_positions(mesh_object)
        if shown.shape != expected.shape:
            raise Disagreement(f"Blender shows {len(shown)} vertices, the OBJ has {len(expected)}")
        distances = np.linalg.norm(shown - expected, axis=1)
        if not np.isfinite(distances).all():
            raise Disagreement(f"frame {frame + 1}: Blender shows vertices that are no numbers")
        if distances.max() > largest:
            largest, where = float(distances.max()), (frame + 1, int(distances.argmax()))
        weights.append(weights_of(mesh_object.data))
    relative = largest / baked["size"]
    names = document["meshes"][0]["extras"]["targetNames"]
    changing = sign_changes(names, np.array(weights))
    # A model has targets for all signs that its drivers can give; a clip need not go through them all.
    keyed = sign_changes(names, keyed_weights(raw, document, len(names)))
    if keyed > 0 and changing == 0:
        raise Disagreement(f"none of {keyed} coordinates that change their sign in the file does so in Blender")
    line = (
        f"{len(shapes)} frames, {len(mesh_object.data.vertices)} vertices, "
        f"{changing} coordinates change sign, largest difference / size {relative:.1e}"
    )
    if relative > TOLERANCE:
        raise Disagreement(f"{line} at frame {where[0]}, vertex {where[1]}: {TOLERANCE} is allowed")
    return line, changing


def main(arguments):
    if not arguments:
        sys.exit("usage: blender-witness.py BAKED.glb…")
    logging.disable(logging.INFO)
    failed, changing = False, 0
    for argument in map(Path, arguments):
        try:
            line, more = witness(argument)
            changing += more
            print(f"Blender {bpy.app.version_string}: {argument.name}: {line}", flush=True)
        except (Disagreement, OSError, RuntimeError) as problem:
            failed = True
            print(f"Blender {bpy.app.version_string} disagrees: {argument.name}: {problem}", flush=True)
    if changing == 0 and not failed:
        failed = True
        print("no coordinate changes its sign in these clips: they witness too little")
    # Blender's own shutdown is slow and may crash; everything has been said.
    sys.stdout.flush()
    os._exit(1 if failed else 0)


main(sys.argv[1:])
