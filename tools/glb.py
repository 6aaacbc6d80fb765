"""What the witnesses written in Python share: GLBs, shapes that `eigenskin bake` has written, and the driver table.

A `Glb` reads what optimisers write too: sparse and interleaved accessors, integers, scales in inverse bind
matrices and nodes. It does not decompress.
"""

import json
from functools import cached_property
from pathlib import Path

import numpy as np

COMPONENTS = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Disagreement(Exception):
    """What a witness has to say against a file."""


class Glb:
    def __init__(self, path):
        self.path = Path(path)
        data = self.path.read_bytes()
        length = int.from_bytes(data[12:16], "little")
        self.document, self.binary = json.loads(data[20 : 20 + length]), data[28 + length :]
        self.nodes = self.document["nodes"]

    def accessor(self, index):
        """Numbers [element, component] of an accessor; integers that stand for fractions as such."""
        accessor = self.document["accessors"][index]
        kind, width = COMPONENTS[accessor["componentType"]], WIDTHS[accessor["type"]]
        values = np.zeros((accessor["count"], width), kind)
        if "bufferView" in accessor:
            values[:] = self._numbers(accessor, accessor["count"], kind, width)
        if "sparse" in accessor:
            sparse = accessor["sparse"]
            indices = COMPONENTS[sparse["indices"]["componentType"]]
            places = self._numbers(sparse["indices"], sparse["count"], indices, 1)[:, 0]
            values[places] = self._numbers(sparse["values"], sparse["count"], kind, width)
        if accessor.get("normalized"):
            return np.maximum(values / np.iinfo(kind).max, -1.0)
        return values.astype(float) if kind is np.float32 else values

    def _numbers(self, place, count, kind, width):
        view = self.document["bufferViews"][place["bufferView"]]
        if view.get("extensions"):
            raise Disagreement(f"{self.path.name} is compressed")
        start = view.get("byteOffset", 0) + place.get("byteOffset", 0)
        size = np.dtype(kind).itemsize
        strides = (view.get("byteStride", size * width), size)
        return np.ndarray((count, width), kind, self.binary, start, strides)

    def primitives(self):
        """The primitives that nodes show, as JSON."""
        shown = [node["mesh"] for node in self.nodes if "mesh" in node]
        return [primitive for mesh in shown for primitive in self.document["meshes"][mesh]["primitives"]]

    def shape(self, primitive):
        """Positions [vertex, 3] and displacements [target, vertex, 3] of a primitive, as stored."""
        targets = [self.accessor(target["POSITION"]) for target in primitive["targets"]]
        return self.accessor(primitive["attributes"]["POSITION"]).astype(float), np.array(targets, float)

    def target_names(self):
        mesh = next(node["mesh"] for node in self.nodes if "mesh" in node)
        return self.document["meshes"][mesh].get("extras", {}).get("targetNames", [])

    def tables(self):
        """The driver table as it stands on the scene, and as it stands on a node, or None where it is missing."""
        scene = self.document["scenes"][self.document.get("scene", 0)]
        strings = [node["extras"]["eigenskin"] for node in self.nodes if "eigenskin" in node.get("extras", {})]
        return scene.get("extras", {}).get("eigenskin"), json.loads(strings[0]) if strings else None

    @cached_property
    def mesh_node(self):
        """The number of the one node that shows a mesh."""
        shown = [number for number, node in enumerate(self.nodes) if "mesh" in node]
        if len(shown) != 1:
            raise Disagreement(f"{len(shown)} nodes show a mesh; one is expected")
        return shown[0]

    @cached_property
    def bind(self):
        """Inverse bind matrices [joint, 4, 4] by the names of joints; for a mesh without a skin, none."""
        if "skin" not in self.nodes[self.mesh_node]:
            return {}
        skin = self.document["skins"][self.nodes[self.mesh_node]["skin"]]
        matrices = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        return {self.nodes[joint]["name"]: matrix for joint, matrix in zip(skin["joints"], matrices)}

    def mesh_matrix(self):
        """The matrix [4, 4] of the node that shows the mesh, in the scene and at rest."""
        return self._globals({}, 0)[self.mesh_node]

    def posed(self, times):
        """Positions [vertex, 3] of the mesh at each of the times of the first clip."""
        (primitive,) = self.primitives()
        base, targets = self.shape(primitive)
        animated = self._animated(times)
        weights = animated.get((self.mesh_node, "weights"))
        if weights is None:
            mesh = self.document["meshes"][self.nodes[self.mesh_node]["mesh"]]
            weights = np.tile(mesh.get("weights", np.zeros(len(targets))), (len(times), 1))
        for frame in range(len(times)):
            shape = base + np.tensordot(weights[frame], targets, 1)
            globals_ = self._globals(animated, frame)
            if self.bind:
                yield self._skinned(primitive, shape, globals_)
            else:
                yield transform(globals_[self.mesh_node], shape)

    def _skinned(self, primitive, shape, globals_):
        skin = self.document["skins"][self.nodes[self.mesh_node]["skin"]]
        matrices = np.array([globals_[joint] for joint in skin["joints"]]) @ np.array(list(self.bind.values()))
        posed, attributes, influences = np.zeros_like(shape), primitive["attributes"], 0
        while f"JOINTS_{influences}" in attributes:
            joints = self.accessor(attributes[f"JOINTS_{influences}"])
            weights = self.accessor(attributes[f"WEIGHTS_{influences}"])
            for joint, weight in zip(joints.T, weights.T):
                posed += weight[:, None] * transform(matrices[joint], shape)
            influences += 1
        return posed

    def _animated(self, times):
        """Values [time, component] of what the first clip moves, by node and path."""
        clip, values = self.document["animations"][0], {}
        for channel in clip["channels"]:
            sampler = clip["samplers"][channel["sampler"]]
            keys = self.accessor(sampler["input"])[:, 0]
            outputs = self.accessor(sampler["output"]).reshape(len(keys), -1)
            path = channel["target"]["path"]
            last = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, max(len(keys) - 2, 0))
            following = np.minimum(last + 1, len(keys) - 1)
            length = np.where(following > last, keys[following] - keys[last], 1.0)
            part = np.clip((times - keys[last]) / length, 0.0, 1.0)
            if sampler.get("interpolation") == "STEP":
                part = np.floor(part)
            between = slerp if path == "rotation" else lerp
            values[channel["target"]["node"], path] = between(outputs[last], outputs[following], part[:, None])
        return values

    def _globals(self, animated, frame):
        """Matrices [4, 4] of the nodes in the scene, by number."""
        found = {}

        def visit(number, parent):
            node = self.nodes[number]

            def part(path, default):
                moved = animated.get((number, path))
                return np.array(node.get(path, default), float) if moved is None else moved[frame]

            if "matrix" in node:
                local = np.array(node["matrix"], float).reshape(4, 4).T
            else:
                local = np.eye(4)
                local[:3, :3] = rotation(part("rotation", [0, 0, 0, 1])) * part("scale", [1, 1, 1])
                local[:3, 3] = part("translation", [0, 0, 0])
            found[number] = parent @ local
            for child in node.get("children", []):
                visit(child, found[number])

        for root in self.document["scenes"][self.document.get("scene", 0)]["nodes"]:
            visit(root, np.eye(4))
        return found


def lerp(first, second, part):
    return first + part * (second - first)


def slerp(first, second, part):
    """Between quaternions [time, 4], on the shorter way."""
    first, second = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (first, second))
    cosine = (first * second).sum(1, keepdims=True)
    second, angle = np.where(cosine < 0, -second, second), np.arccos(np.minimum(np.abs(cosine), 1.0))
    near = angle < 1e-4
    sine = np.where(near, 1.0, np.sin(angle))
    blend = (np.sin((1 - part) * angle) * first + np.sin(part * angle) * second) / sine
    blend = np.where(near, lerp(first, second, part), blend)
    return blend / np.linalg.norm(blend, axis=1, keepdims=True)


def rotation(quaternion):
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])


def transform(matrix, points):
    """Points [point, 3] moved by one matrix [4, 4] or by one for each."""
    return np.einsum("...ij,...j->...i", matrix[..., :3, :3], points) + matrix[..., :3, 3]


def size_of(positions):
    return np.linalg.norm(positions.max(0) - positions.min(0))


class Baked:
    """A clip that `eigenskin bake` has written as GLB, with its shapes and times beside it."""

    def __init__(self, path):
        self.path = Path(path)
        told = json.loads(self.path.with_suffix(".json").read_text())
        self.times, self.size = np.array(told["times"]), told["size"]
        self.objs = sorted(self.path.with_suffix("").glob("frame-*.obj"))
        if len(self.objs) != len(self.times):
            raise Disagreement(f"{len(self.objs)} OBJs for {len(self.times)} frames")


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
