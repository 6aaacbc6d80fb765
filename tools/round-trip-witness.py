"""FBX and USD as witnesses: does a baked GLB still show its shapes after Blender has written and read it as these?

    eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
    python3.11 tools/round-trip-witness.py w/grasp.glb …

Each GLB is imported by Blender, exported with its shape keys, armature and clip, and imported again into an empty
scene. All shape keys must arrive under their names, and every frame is compared vertex by vertex with the OBJs beside
the file. FBX must also keep the driver table on the root joint. Needs `pip install 'bpy==4.5.*'` (Python 3.11).
Prints one line per file and format; exit code 1 when one disagrees.
"""

import logging
import math
import os
import sys
import tempfile
from pathlib import Path

import bpy

from blender_scene import distances, empty, import_glb, silence, the_mesh
from glb import Baked, Disagreement, Glb


def through_fbx(path):
    # Left alone, the exporter thins keys out (7e-4 sizes), and the importer begins with frame 1.
    bpy.ops.export_scene.fbx(filepath=path, bake_anim_simplify_factor=0.0, use_custom_props=True)
    empty()
    bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0, use_custom_props=True)


def through_usd(path):
    bpy.ops.wm.usd_export(filepath=path, export_animation=True, export_armatures=True, export_shapekeys=True)
    empty()
    bpy.ops.wm.usd_import(filepath=path)


# Largest distance allowed, in sizes of the model.
TOLERANCE = 1e-5
# Blender writes the scales of joints into USD in 16 bits, and only where they have changed by .01.
TOLERANCE_OF_SCALES = 5e-3
FORMATS = {"FBX": through_fbx, "USD": through_usd}


def scales_joints(glb):
    return any(channel["target"]["path"] == "scale" for channel in glb.document["animations"][0]["channels"])


def names_of(mesh_object):
    keys = mesh_object.data.shape_keys
    return [key.name for key in keys.key_blocks[1:]] if keys else []


def tables():
    """All driver tables that objects and bones have, as strings."""
    bones = [bone for armature in bpy.data.armatures for bone in armature.bones]
    return [owner["eigenskin"] for owner in [*bpy.data.objects, *bones] if "eigenskin" in owner]


def witness(path, name):
    """What arrives through a format, as text."""
    baked, glb = Baked(path), Glb(path)
    count = len(glb.target_names())
    with silence():
        # Blender cuts names at 63 bytes.
        names, had = names_of(import_glb(path, disable_bone_shape=True)), tables()
        scene = bpy.context.scene
        scene.frame_start = 0
        scene.frame_end = math.ceil(baked.times[-1] * scene.render.fps / scene.render.fps_base)
        with tempfile.TemporaryDirectory() as folder:
            FORMATS[name](str(Path(folder) / f"again.{name.lower()}"))
    mesh_object = the_mesh()
    found = names_of(mesh_object)
    if len(found) != count or found != names:
        same = len(set(found) & set(names))
        raise Disagreement(f"{len(found)} shape keys of {count} arrive, {same} under their names")
    kept = bool(had) and had[0] in tables()
    if name == "FBX" and not kept:
        raise Disagreement("the driver table is lost")
    largest = max(frame.max() for frame in distances(mesh_object, baked))
    line = (f"{len(baked.times)} frames, {len(mesh_object.data.vertices)} vertices, {len(found)} shape keys, "
            f"driver table {'kept' if kept else 'lost'}, largest difference / size {largest:.1e}")
    allowed = TOLERANCE_OF_SCALES if name == "USD" and scales_joints(glb) else TOLERANCE
    if largest > allowed:
        raise Disagreement(f"{line}: {allowed} is allowed")
    return line


def main(paths):
    if not paths:
        sys.exit("usage: round-trip-witness.py BAKED.glb…")
    logging.disable(logging.INFO)
    failed = False
    for path in map(Path, paths):
        for name in FORMATS:
            program = f"Blender {bpy.app.version_string} through {name}"
            try:
                print(f"{program}: {path.name}: {witness(path, name)}", flush=True)
            except (Disagreement, OSError, RuntimeError) as problem:
                failed = True
                print(f"{program} disagrees: {path.name}: {problem}", flush=True)
    # Blender's own shutdown is slow and may crash; everything has been said.
    sys.stdout.flush()
    os._exit(1 if failed else 0)


main(sys.argv[1:])
