"""Blender as a witness: does it show a baked GLB as `eigenskin bake --write-obj` does?

    eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
    python3.11 tools/blender-witness.py w/grasp.glb

Each GLB is imported with Blender's default settings; its OBJ folder and JSON lie beside it under
the same name. Every frame of the clip is evaluated by Blender and compared vertex by vertex. Needs
`pip install 'bpy==4.5.*'` (Python 3.11). Prints one line per file; exit code 1 when one disagrees.
"""

import logging
import os
import sys
from pathlib import Path

import bpy
import numpy as np

from blender_scene import distances, import_glb
from glb import Baked, Disagreement, Glb

# Largest distance allowed, in sizes of the model.
TOLERANCE = 1e-4
# A weight that is on, and not a rounding error.
ON = 1e-3


def weights_of(mesh):
    """Morph weights [target] at the current frame, as Blender uses them."""
    keys = mesh.shape_keys.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [key.value for key in list(keys.key_blocks)[1:]]


def keyed_weights(glb):
    """The keys of the first clip's morph weights [key, target], as they stand in the file."""
    clip = glb.document["animations"][0]
    channel = next(channel for channel in clip["channels"] if channel["target"]["path"] == "weights")
    return glb.accessor(clip["samplers"][channel["sampler"]]["output"]).reshape(-1, len(glb.target_names()))


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
    baked, glb = Baked(path), Glb(path)
    if len(glb.document["animations"]) != 1:
        raise Disagreement(f"{len(glb.document['animations'])} clips; one is expected")
    mesh_object = import_glb(path)
    largest, where, weights = 0.0, (0, 0), []
    for frame, found in enumerate(distances(mesh_object, baked)):
        if found.max() > largest:
            largest, where = float(found.max()), (frame + 1, int(found.argmax()))
        weights.append(weights_of(mesh_object.data))
    names = glb.target_names()
    changing = sign_changes(names, np.array(weights))
    # A model has targets for all signs that its drivers can give; a clip need not go through them all.
    keyed = sign_changes(names, keyed_weights(glb))
    if keyed > 0 and changing == 0:
        raise Disagreement(f"none of {keyed} coordinates that change their sign in the file does so in Blender")
    line = (
        f"{len(baked.times)} frames, {len(mesh_object.data.vertices)} vertices, "
        f"{changing} coordinates change sign, largest difference / size {largest:.1e}"
    )
    if largest > TOLERANCE:
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
