#!/usr/bin/env python3
"""Blender as a black box for eigenskin: its modifiers deform the character.

    [[deformer]]
    kind = "external"
    command = ["python3.11", "blender_box.py", "--lattice", "0,0,0.1", "--smooth", "5"]

Needs Python 3.11 and `pip install 'bpy==4.5.*'`. Mesh, armature and vertex groups are built from what
eigenskin tells; the points of a call become a shape key, as corrections are played later. Modifiers
act in this order: armature, lattice, corrective smooth, and those of an object in a .blend file.
docs/use/deformers.md tells the protocol.
"""

import argparse
import json
import os
import sys

# Blender prints to the standard output; answers go out past that.
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
requests = sys.stdin.buffer

import bpy  # noqa: E402
import numpy as np  # noqa: E402
from mathutils import Matrix, Vector  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-armature", action="store_true", help="do not skin")
    parser.add_argument("--preserve-volume", action="store_true", help="dual quaternions")
    parser.add_argument("--lattice", metavar="X,Y,Z", help="a lattice of 4³ points whose inner ones move by this")
    parser.add_argument("--smooth", type=int, metavar="PASSES", help="corrective smoothing")
    parser.add_argument("--smooth-factor", type=float, default=0.5)
    parser.add_argument("--smooth-type", choices=["SIMPLE", "LENGTH_WEIGHTED"], default="SIMPLE")
    parser.add_argument("--smooth-pin-boundary", action="store_true")
    parser.add_argument("--blend", metavar="FILE", help="add the modifiers of an object in a .blend file")
    parser.add_argument("--object", metavar="NAME", help="that object")
    return parser.parse_args()


def send(message, payload=b""):
    answers.write(json.dumps(message).encode() + b"\n" + payload)
    answers.flush()


def matrix(rows):
    return Matrix([*rows, [0.0, 0.0, 0.0, 1.0]])


def add(name, data):
    made = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(made)
    return made


def build_mesh(header):
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(header["rest"], [], header["triangles"])
    if len(mesh.vertices) != header["vertices"]:
        raise ValueError(f"Blender made {len(mesh.vertices)} vertices of {header['vertices']}")
    skin = add("skin", mesh)
    groups = [skin.vertex_groups.new(name=joint["name"]) for joint in header["joints"]]
    for vertex, influences in enumerate(header["weights"]):
        for joint, weight in influences:
            groups[joint].add([vertex], weight, "REPLACE")
    skin.shape_key_add(name="Basis", from_mix=False)
    key = skin.shape_key_add(name="correction", from_mix=False)
    key.value = 1.0
    return skin, key


def build_armature(header):
    """Bones without parents: each is where its own matrix says, whatever the others do."""
    armature = add("armature", bpy.data.armatures.new("armature"))
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for joint in header["joints"]:
        bone = armature.data.edit_bones.new(joint["name"])
        bone.head = [row[3] for row in joint["rest_from_joint"]]
        bone.tail = bone.head + Vector((0.0, 1.0, 0.0))
    bpy.ops.object.mode_set(mode="OBJECT")
    names = [joint["name"] for joint in header["joints"]]
    if [bone.name for bone in armature.data.bones] != names:
        raise ValueError("Blender renamed a bone; joints need names of at most 63 bytes, all different")
    return armature


def build_lattice(header, displacement):
    """Around the rest shape, inner control points moved."""
    data = bpy.data.lattices.new("lattice")
    data.points_u = data.points_v = data.points_w = 4
    lattice = add("lattice", data)
    rest = np.array(header["rest"])
    low, high = rest.min(axis=0), rest.max(axis=0)
    size, middle = 1.1 * (high - low), (high + low) / 2
    for index, point in enumerate(data.points):
        place = (index % 4, index // 4 % 4, index // 16)
        if all(0 < k < 3 for k in place):
            # Points are in units of the box.
            point.co_deform = point.co + Vector(d / s for d, s in zip(displacement, size))
    return lattice, Matrix.Translation(middle) @ Matrix.Diagonal([*size, 1.0])


def copy_modifiers(skin, armature, path, name):
    """The modifiers of an object of a .blend file, with our armature."""
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.objects = [name]
    source = wanted.objects[0]
    if source is None:
        raise ValueError(f"{path} has no object {name!r}")
    for modifier in source.modifiers:
        made = skin.modifiers.new(modifier.name, modifier.type)
        for setting in modifier.bl_rna.properties:
            if not setting.is_readonly:
                setattr(made, setting.identifier, getattr(modifier, setting.identifier))
        if made.type == "ARMATURE":
            made.object = armature
        elif getattr(made, "object", None) is not None:
            bpy.context.scene.collection.objects.link(made.object)


class Character:
    def __init__(self, header, options):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.count = header["vertices"]
        self.skin, self.key = build_mesh(header)
        self.armature = build_armature(header)
        self.lattice = None
        self.root = next((i for i, joint in enumerate(header["joints"]) if joint["parent"] is None), None)
        if not options.no_armature:
            modifier = self.skin.modifiers.new("armature", "ARMATURE")
            modifier.object = self.armature
            modifier.use_deform_preserve_volume = options.preserve_volume
        if options.lattice:
            displacement = [float(x) for x in options.lattice.split(",")]
            self.lattice, self.lattice_at_rest = build_lattice(header, displacement)
            self.skin.modifiers.new("lattice", "LATTICE").object = self.lattice
        if options.smooth is not None:
            modifier = self.skin.modifiers.new("smooth", "CORRECTIVE_SMOOTH")
            modifier.iterations = options.smooth
            modifier.factor = options.smooth_factor
            modifier.smooth_type = options.smooth_type
            modifier.use_pin_boundary = options.smooth_pin_boundary
            modifier.rest_source = "ORCO"
        if options.blend:
            copy_modifiers(self.skin, self.armature, options.blend, options.object)

    def deform(self, joints, points):
        """Points [vertex, 3] near rest to points in the pose."""
        self.key.data.foreach_set("co", points.astype(np.float32).ravel())
        self.skin.data.update_tag()
        transforms = [matrix(rows) for rows in joints]
        for bone, transform in zip(self.armature.pose.bones, transforms):
            rest = bone.bone.matrix_local
            bone.matrix_basis = rest.inverted() @ transform @ rest
        if self.lattice:
            root = Matrix() if self.root is None else transforms[self.root]
            self.lattice.matrix_world = root @ self.lattice_at_rest
        bpy.context.view_layer.update()
        evaluated = self.skin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        if len(evaluated.vertices) != self.count:
            raise ValueError(f"a modifier makes {len(evaluated.vertices)} vertices of {self.count}")
        posed = np.empty(3 * self.count, dtype=np.float32)
        evaluated.vertices.foreach_get("co", posed)
        return posed.astype("<f8")


def main():
    options = arguments()
    header = json.loads(requests.readline())
    try:
        character = Character(header, options)
    except Exception as error:
        return send({"error": str(error)})
    send({"ok": True})
    while line := requests.readline():
        call = json.loads(line)
        points = np.frombuffer(requests.read(24 * character.count), dtype="<f8").reshape(-1, 3)
        try:
            posed = character.deform(call["posed_from_rest"], points)
        except Exception as error:
            send({"error": str(error)})
            continue
        send({"ok": True, "vertices": character.count}, posed.tobytes())


main()
