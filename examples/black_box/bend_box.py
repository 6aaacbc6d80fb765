#!/usr/bin/env python3
"""A black box for eigenskin with nothing but Python's standard library.

Linear blending, after a bulge along the rest normals that grows where two joints meet and one of
them bends. A model for boxes of your own; docs/use/deformers.md tells the protocol.

    [[deformer]]
    kind = "external"
    command = ["python3", "bend_box.py", "0.05"]     # the bulge at a right angle
"""

import json
import math
import os
import struct
import sys

# Answers go out here; whatever else is printed becomes an error message.
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
requests = sys.stdin.buffer


def send(message, payload=b""):
    answers.write(json.dumps(message).encode() + b"\n" + payload)
    answers.flush()


def normals_of(rest, triangles):
    """Unit normals [vertex][3], weighted by area."""
    sums = [[0.0, 0.0, 0.0] for _ in rest]
    for a, b, c in triangles:
        u = [rest[b][k] - rest[a][k] for k in range(3)]
        v = [rest[c][k] - rest[a][k] for k in range(3)]
        cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
        for vertex in (a, b, c):
            for k in range(3):
                sums[vertex][k] += cross[k]
    return [[x / (math.hypot(*n) or 1.0) for x in n] for n in sums]


def bend(first, second):
    """1 - cos of the angle between two rigid motions, each given as three rows."""
    trace = sum(first[row][k] * second[row][k] for row in range(3) for k in range(3))
    return 1.0 - max(-1.0, min(1.0, (trace - 1.0) / 2.0))


def main():
    bulge = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    header = json.loads(requests.readline())
    if header.get("protocol") != 1:
        return send({"error": "this program knows protocol 1"})
    count, weights = header["vertices"], header["weights"]
    normals = normals_of(header["rest"], header["triangles"])
    numbers = struct.Struct(f"<{3 * count}d")
    send({"ok": True})

    while line := requests.readline():
        call = json.loads(line)
        points = numbers.unpack(requests.read(numbers.size))
        joints = call["posed_from_rest"]
        posed = []
        for vertex in range(count):
            influences = weights[vertex]
            swell = 0.0
            if len(influences) > 1:
                (first, w0), (second, w1) = influences[:2]
                swell = bulge * 4.0 * w0 * w1 * bend(joints[first], joints[second])
            p = [points[3 * vertex + k] + swell * normals[vertex][k] for k in range(3)]
            if not influences:
                posed += p
                continue
            for row in range(3):
                at = 0.0
                for joint, weight in influences:
                    r = joints[joint][row]
                    at += weight * (r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3])
                posed.append(at)
        send({"ok": True, "vertices": count}, numbers.pack(*posed))


main()
