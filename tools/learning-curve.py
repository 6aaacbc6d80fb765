#!/usr/bin/env python3
"""How the error on other poses falls with the number of poses of many joints: prints a table and draws it.

usage: learning-curve.py POSES.npz OUT.svg "LABEL=COMMAND…" …

POSES.npz is data/simulated-hand/poses.npz: frames 0:78 move one joint each, the next ones are random, and the last
60 of these (259:319) are the other poses. A COMMAND is an eigenskin and the options of its fit, such as
"patches=target/release/eigenskin" or "paper=target/release/eigenskin --method eigenskin". The first one's evaluate
measures all of them. Standard library only.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

SINGLE = 78
COUNTS = [0, 16, 50, 100, 150]
FIGURES = [("pooled", "all poses together"), ("median", "median pose"), ("worst", "worst pose")]
COLOURS = ["#c2410c", "#64748b", "#0f766e", "#7c3aed"]


def measure(poses, commands, folder):
    """label → figure → one value for each of COUNTS"""
    judge = shlex.split(commands[0][1])[0]
    model, report = str(folder / "model.glb"), str(folder / "report.json")
    found = {}
    for label, command in commands:
        program, *options = shlex.split(command)
        found[label] = {name: [] for name, _ in FIGURES}
        for count in COUNTS:
            frames = ["--frames", f"0:{SINGLE + count}"]
            subprocess.run([program, "fit", poses, "--examples", poses, *frames, *options, "-o", model, "-q"], check=True)
            truth = ["--truth", poses, "--frames", "259:319"]
            subprocess.run([judge, "evaluate", model, *truth, "--json", report, "-q"], check=True)
            groups = json.loads(pathlib.Path(report).read_text())["groups"]["all"]
            for name, _ in FIGURES:
                found[label][name].append(groups[name])
            print(f"{label:24} {count:4}", *(f"{groups[name]:.3f}" for name, _ in FIGURES), flush=True)
    return found


def draw(found):
    """An SVG with one panel per figure."""
    width, height, left, top = 250, 190, 46, 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(FIGURES) * (width + left) + 14} 300" '
        'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Error over the number of poses">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for panel, (figure, title) in enumerate(FIGURES):
        x0 = panel * (width + left) + left
        most = max(max(values[figure]) for values in found.values())
        most = 0.2 * -(-most // 0.2)
        at = lambda count, value: (x0 + width * 0.94 * count / COUNTS[-1], top + height * (1 - value / most))
        parts.append(f'<text x="{x0}" y="24" font-size="14" font-weight="600" fill="#0f172a">{title}</text>')
        for tick in range(round(most / 0.2) + 1):
            y = at(0, 0.2 * tick)[1]
            parts.append(f'<path d="M{x0} {y:.1f}h{width * 0.94:.1f}" stroke="#e2e8f0"/>')
            parts.append(f'<text x="{x0 - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#475569">{0.2 * tick:.1f}</text>')
        for count in COUNTS:
            x = at(count, 0)[0]
            parts.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle" fill="#475569">{count}</text>')
        for (label, values), colour in zip(found.items(), COLOURS):
            points = [at(count, value) for count, value in zip(COUNTS, values[figure])]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    for place, (label, colour) in enumerate(zip(found, COLOURS)):
        x = left + place * 230
        parts.append(f'<circle cx="{x + 5}" cy="283" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="287" fill="#0f172a">{label}</text>')
    parts.append(
        f'<text x="{len(FIGURES) * (width + left)}" y="287" text-anchor="end" fill="#475569">random poses beside 78 of one joint</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def main():
    if len(sys.argv) < 4 or any("=" not in command for command in sys.argv[3:]):
        sys.exit(__doc__)
    commands = [tuple(command.split("=", 1)) for command in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(sys.argv[1], commands, pathlib.Path(folder))
    pathlib.Path(sys.argv[2]).write_text(draw(found), encoding="utf-8")


if __name__ == "__main__":
    main()
