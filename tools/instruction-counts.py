#!/usr/bin/env python3
"""Counts the instructions of the CPU kernels with valgrind and compares them with recorded ones.

    python3 tools/instruction-counts.py target/release/eigenskin-lab            compare
    python3 tools/instruction-counts.py target/release/eigenskin-lab --record   record what is found

Times on shared machines are noisy; counts are not, so that a slow-down of a kernel is seen. A new
compiler changes them: look at the difference, then record. Counts are of twenty frames of 2,000
vertices (see crates/eigenskin-lab/src/bench/fixed.rs), on a processor with AVX2.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

KERNELS = [
    "plain",
    "plain-portable",
    "callers-order",
    "vertex-buffer",
    "dual-quaternions",
    "components-f32",
    "components-f16",
    "components-i16",
    "normal-components-f16",
    "components-f16-portable",
    "drivers",
]
RECORD = pathlib.Path(__file__).with_suffix(".json")
ALLOWED = 0.05


def count(program, kernel):
    """Instructions inside the frames of one kernel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
            "--toggle-collect=*counted_frame*", program, "bench", "--kernel", kernel,
        ]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
        found = re.search(r"Collected : (\d+)", result.stderr)
        if found is None or int(found[1]) == 0:
            sys.exit(f"no instructions were counted for {kernel}:\n{result.stderr}")
        return int(found[1])


def main():
    program, *options = sys.argv[1:] or sys.exit(__doc__)
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("left out: instruction counts are recorded for processors with AVX2")
        return
    found = {kernel: count(program, kernel) for kernel in KERNELS}
    if "--record" in options:
        RECORD.write_text(json.dumps(found, indent=2) + "\n")
        print(f"recorded in {RECORD.name}")
        return
    recorded = json.loads(RECORD.read_text())
    strayed = []
    for kernel, now in found.items():
        before = recorded.get(kernel)
        if before is None:
            strayed.append(f"{kernel} is not recorded")
            continue
        change = now / before - 1
        print(f"{kernel:<26} {now:>11,} instructions  {change:+7.2%}")
        if abs(change) > ALLOWED:
            strayed.append(f"{kernel} changed by {change:+.1%}")
    if strayed:
        sys.exit(
            "instruction counts differ by more than 5 %: " + "; ".join(strayed)
            + "\nIf that is meant, record them: python3 tools/instruction-counts.py PROGRAM --record"
        )


if __name__ == "__main__":
    main()
