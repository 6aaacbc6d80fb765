"""What the witnesses that run Blender as a Python module share. Needs `pip install 'bpy==4.5.*'` (Python 3.11)."""

import os
from contextlib import contextmanager

import bpy
import numpy as np

from glb import Disagreement, read_obj


def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def import_glb(path, **options):
    """The one mesh object of the file, in a scene that holds nothing else."""
    empty()
    bpy.ops.import_scene.gltf(filepath=str(path), **options)
    return the_mesh()


def the_mesh():
    """The one mesh object of the scene."""
    # The importer of glTF adds a mesh that draws the bones; it is in no file.
    shapes = {bone.custom_shape for o in bpy.data.objects if o.pose for bone in o.pose.bones}
    meshes = [o for o in bpy.data.objects if o.type == "MESH" and o not in shapes]
    if len(meshes) != 1:
        raise Disagreement(f"Blender has {len(meshes)} meshes where the file has one")
    return meshes[0]


def show(time):
    """Goes to the frame of a time in seconds."""
    render = bpy.context.scene.render
    frame = time * render.fps / render.fps_base
    whole, part = divmod(frame, 1.0)
    if min(part, 1.0 - part) < 1e-4:
        whole, part = round(frame), 0.0
    bpy.context.scene.frame_set(int(whole), subframe=part)


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


def distances(mesh_object, baked):
    """Shows every frame of a baked clip: the distance of each vertex [vertex] from the OBJ's, in sizes."""
    triangles = triangles_of(mesh_object.data)
    for frame, (time, obj) in enumerate(zip(baked.times, baked.objs)):
        show(time)
        expected, expected_triangles = read_obj(obj)
        # Equal faces of equal vertex numbers: then vertex i here is vertex i there.
        if not np.array_equal(triangles, expected_triangles):
            raise Disagreement("Blender numbers the vertices or faces otherwise than the file")
        shown = posed_positions(mesh_object)
        if shown.shape != expected.shape:
            raise Disagreement(f"Blender shows {len(shown)} vertices, the OBJ has {len(expected)}")
        found = np.linalg.norm(shown - expected, axis=1) / baked.size
        if not np.isfinite(found).all():
            raise Disagreement(f"frame {frame + 1}: Blender shows vertices that are no numbers")
        yield found


@contextmanager
def silence():
    """Nothing that Blender or its modules print is seen."""
    kept, nowhere = [os.dup(stream) for stream in (1, 2)], os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        yield
    finally:
        for stream, place in zip((1, 2), kept):
            os.dup2(place, stream)
            os.close(place)
        os.close(nowhere)
