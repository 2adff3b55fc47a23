"""``python tests/fuzz N [--seed S]``: runs N random programs with PyTorch and with jtorch, and prints all that differ."""
from __future__ import annotations

import argparse
import collections
import re
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parents[2])]

from libraries import library  # noqa: E402
from programs import run  # noqa: E402


def main() -> int:
    """Runs the programs; the status says whether any differed."""
    parser = argparse.ArgumentParser("python tests/fuzz", description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=0, help="the first program's; the others' follow")
    parser.add_argument("--steps", type=int, default=18)
    parser.add_argument("--messages", action="store_true", help="compare the first sentence of errors too")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after that long")
    parser.add_argument("--show", type=int, default=20, help="how many differences to print in full")
    given = parser.parse_args()
    torch, jtorch = library("torch"), library("jtorch")
    started, kinds, done = time.time(), collections.Counter(), 0
    for seed in range(given.seed, given.seed + given.programs):
        if time.time() - started > given.seconds:
            break
        found, done = run(seed, torch, jtorch, given.steps, given.messages), done + 1
        if found is None:
            continue
        kind = re.sub(r"\bt\d+|\bn\d+|\d+", "_", found.lines[-1])[:60]
        kinds[kind] += 1
        if kinds[kind] == 1 and len(kinds) <= given.show:
            print(f"---- program {seed}\n{found}\n", flush=True)
    print(f"{done} programs, {sum(kinds.values())} differ, {time.time() - started:.0f} s")
    for kind, count in kinds.most_common(40):
        print(f"{count:5} {kind}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
