"""gltf-transform and gltfpack as witnesses: what becomes of a model when they make its file smaller?

    eigenskin bake model.glb --clip grasp --rate 24 -o w/grasp.glb --write-obj w/grasp --json w/grasp.json
    (cd tools/optimisers && npm ci)
    python3 tools/optimiser-witness.py [--evaluate EIGENSKIN TRUTH.glb] w/grasp.glb …

The driver table must arrive as it was, wherever it was (node, scene), and so must the names of targets. Morph targets
are compared in the units of the model, and the clip is played: every vertex at every frame is compared with the OBJs
beside the file. Vertices may have other numbers afterwards; they are found again by their positions at rest. With
--evaluate the command must find the same error on the true shapes for what they make of the first file. Needs Node.js
and numpy. Prints one line per file and program; exit code 1 when one disagrees.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from glb import Baked, Disagreement, Glb, read_obj, transform

FOLDER = Path(__file__).resolve().parent / "optimisers"
# What each may change: the largest difference of displacements and of posed vertices, in sizes or, where targets
# reach further than that, in lengths of the longest displacement: all numbers of a file are rounded in one scale.
EXACT = 1e-6, 1e-6
# Positions in 14 bits and skin weights in 8.
QUANTISED = 2e-4, 1e-2
# Positions and skin weights in 16 bits.
FINE = 5e-5, 2e-4
# gltfpack always has skin weights and keys of morph weights in 8 bits, also when it shall not quantise.
COARSE_WEIGHTS = 1e-6, 1e-2
# Shares of skinning's error that are the same.
SAME_ERROR = 0.005
GLTF_TRANSFORM = {
    "copy": EXACT, "dedup": EXACT, "prune": EXACT, "weld": EXACT, "reorder": EXACT, "quantize": QUANTISED,
    "quantize --quantize-position 16 --quantize-weight 16": FINE, "meshopt": QUANTISED,
}
# Without -ke the driver table is lost. Without -af 0 clips are sampled anew, 30 times a second; the frames compared here
# are others.
KEEP = "-kn -km -ke -af 0"
GLTFPACK = {f"{KEEP} -noq": COARSE_WEIGHTS, KEEP: QUANTISED, f"{KEEP} -cc": QUANTISED}


def run(program, *arguments):
    """What a program of the folder prints."""
    command = ["node", str(FOLDER / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Disagreement(f"{(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout.strip()


def programs():
    """Name, arguments of the function `run` with places for two files, and what may change, of each program."""
    transform_cli, pack_cli = "node_modules/@gltf-transform/cli/bin/cli.js", "node_modules/gltfpack/cli.js"
    version, found = run(transform_cli, "--version"), []
    for command, allowed in GLTF_TRANSFORM.items():
        name, *options = command.split()
        found.append((f"gltf-transform {version} {command}", [transform_cli, name, "IN", "OUT", *options], allowed))
    version = run(pack_cli, "-v").removeprefix("gltfpack ")
    for options, allowed in GLTFPACK.items():
        found.append((f"gltfpack {version} {options}", [pack_cli, "-i", "IN", "-o", "OUT", *options.split()], allowed))
    return found


class Original:
    """A file as it was, and what it shows."""

    def __init__(self, path):
        self.baked, self.glb = Baked(path), Glb(path)
        self.tables = dict(zip(("scene", "node"), self.glb.tables()))
        if self.tables["node"] is None:
            raise Disagreement("no node has a driver table")
        (self.primitive,) = self.glb.primitives()
        self.base, self.targets = self.glb.shape(self.primitive)
        self.triangles = self.glb.accessor(self.primitive["indices"])
        self.shapes = [read_obj(obj)[0] for obj in self.baked.objs]
        self.reach = max(1.0, np.linalg.norm(self.targets, axis=2).max() / self.baked.size)
        self.compare_played(self.glb, np.arange(len(self.base)), EXACT[1])

    def compare(self, glb, allowed):
        """What has changed, as text."""
        allowed_targets, allowed_posed = (limit * self.reach for limit in allowed)
        for place, table in zip(self.tables, glb.tables()):
            if table != self.tables[place]:
                raise Disagreement(f"the driver table on the {place} is {'another' if table else 'lost'}")
        if glb.target_names() != self.glb.target_names():
            raise Disagreement("targets have other names")
        (primitive,) = glb.primitives()
        base, targets = glb.shape(primitive)
        if len(targets) != len(self.targets):
            raise Disagreement(f"{len(targets)} targets instead of {len(self.targets)}")
        units = self.units(glb)
        numbers = self.vertices(transform(units, base), allowed_targets)
        triangles = numbers[glb.accessor(primitive["indices"])]
        if turned(triangles) != turned(self.triangles):
            raise Disagreement("other triangles")
        differences = targets @ units[:3, :3].T - self.targets[:, numbers]
        largest = np.linalg.norm(differences, axis=2).max() / self.baked.size
        normals = np.abs(target_normals(glb, primitive) - target_normals(self.glb, self.primitive)[:, numbers]).max()
        if not largest <= allowed_targets:
            raise Disagreement(f"targets: largest difference / size {largest:.1e}; {allowed_targets:.1e} is allowed")
        played = self.compare_played(glb, numbers, allowed_posed)
        order = "same order" if np.array_equal(numbers, np.arange(len(self.base))) else "other order"
        places = " and ".join(place for place, table in self.tables.items() if table)
        return (f"driver table on {places}, {len(base)} vertices in {order}, {len(targets)} targets, "
                f"largest difference / size: targets {largest:.1e}, posed {played:.1e}; of target normals {normals:.1e}")

    def units(self, glb):
        """The matrix [4, 4] from stored positions to those of the original."""
        if not self.glb.bind:
            return np.linalg.inv(self.glb.mesh_matrix()) @ glb.mesh_matrix()
        # Quantised positions have their scale in the inverse bind matrices, the same for all joints.
        if set(glb.bind) != set(self.glb.bind):
            raise Disagreement("the skin has other joints")
        found = np.array([np.linalg.inv(matrix) @ glb.bind[name] for name, matrix in self.glb.bind.items()])
        if np.abs(found - found[0]).max() > 1e-5 * self.baked.size:
            raise Disagreement("inverse bind matrices do not have one scale")
        return found[0]

    def vertices(self, base, allowed):
        """The original number of each vertex [vertex], by its position at rest."""
        numbers = np.array([np.linalg.norm(self.base - position, axis=1).argmin() for position in base])
        far = np.linalg.norm(self.base[numbers] - base, axis=1).max() / self.baked.size
        if not far <= allowed:
            raise Disagreement(f"a vertex lies where none was, {far:.1e} sizes away")
        return numbers

    def compare_played(self, glb, numbers, allowed):
        """Largest distance of a vertex at any frame, in sizes."""
        played = zip(glb.posed(self.baked.times), self.shapes)
        largest = max(np.linalg.norm(posed - shape[numbers], axis=1).max() for posed, shape in played) / self.baked.size
        if not largest <= allowed:
            raise Disagreement(f"posed: largest difference / size {largest:.1e}; {allowed:.1e} is allowed")
        return largest


def target_normals(glb, primitive):
    return np.array([glb.accessor(target["NORMAL"]) for target in primitive["targets"]])


def turned(triangles):
    """Triangles as a set: each begins with its lowest vertex."""
    triangles = triangles.reshape(-1, 3)
    first = triangles.argmin(1)
    return set(map(tuple, np.stack([triangles[np.arange(len(first)), (first + step) % 3] for step in range(3)], 1)))


class Reader:
    """The command, and true shapes to measure a model with."""

    def __init__(self, command, truth, original):
        self.command, self.truth = command, truth
        self.error = self.measure(original)

    def measure(self, path):
        """What a model leaves of skinning's error."""
        command = [self.command, "evaluate", path, "--truth", self.truth, "--quiet", "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise Disagreement(f"eigenskin does not read it: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout)["relative_error"]

    def compare(self, path):
        error = self.measure(path)
        if abs(error - self.error) > SAME_ERROR:
            raise Disagreement(f"the model leaves {error:.4f} of skinning's error, before it was {self.error:.4f}")
        return f"; read again it leaves {error:.4f} of skinning's error (before {self.error:.4f})"


def witness(original, arguments, allowed, reader):
    with tempfile.TemporaryDirectory() as folder:
        smaller, plain = Path(folder) / "smaller.glb", Path(folder) / "plain.glb"
        files = {"IN": original.baked.path, "OUT": smaller}
        run(*(files.get(argument, argument) for argument in arguments))
        glb = Glb(smaller)
        if "EXT_meshopt_compression" in glb.document.get("extensionsUsed", []):
            run("decompress.mjs", smaller, plain)
            glb = Glb(plain)
        return original.compare(glb, allowed) + (reader.compare(glb.path) if reader else "")


def main(arguments):
    parser = argparse.ArgumentParser(prog="optimiser-witness.py")
    parser.add_argument("--evaluate", nargs=2, metavar=("EIGENSKIN", "TRUTH.glb"))
    parser.add_argument("baked", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    failed, found = False, programs()
    for path in options.baked:
        try:
            original = Original(path)
            measured = options.evaluate and path == options.baked[0]
            reader = Reader(*options.evaluate, path) if measured else None
        except Disagreement as problem:
            failed = True
            print(f"{path.name} as it was: {problem}", flush=True)
            continue
        for name, arguments, allowed in found:
            try:
                print(f"{name}: {path.name}: {witness(original, arguments, allowed, reader)}", flush=True)
            except Disagreement as problem:
                failed = True
                print(f"{name} disagrees: {path.name}: {problem}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
