"""``python tests/fuzz N [--seed S]``: run N random programs with PyTorch and with jtorch, and print all differences.

The programs run in processes of their own, since there are some that end PyTorch with a segmentation fault.
"""
from __future__ import annotations

import argparse
import collections
import gc
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parents[2])]


def main() -> int:
    """Run the programs. Return 1 if any differed."""
    given = _arguments()
    if given.progress:
        _work(given)
        return 0
    started = time.time()
    share = -(-given.programs // given.jobs)
    parts = [(given.seed + at, min(share, given.programs - at)) for at in range(0, given.programs, share)]
    with ThreadPoolExecutor(given.jobs) as pool:
        states = list(pool.map(lambda part: _supervised(given, *part), parts))
    kinds = sum([collections.Counter(s["kinds"]) for s in states], collections.Counter())
    crashes = [c for s in states for c in s["crashes"]]
    print(f"{sum(s['done'] for s in states)} programs, {sum(kinds.values())} differ, {time.time() - started:.0f} s")
    for kind, count in kinds.most_common(60):
        print(f"{count:5} {kind}")
    for seed, side in crashes:
        print(f"program {seed} ended {'PyTorch' if side == 't' else 'jtorch'} with a crash")
    return 1 if kinds or any(side != "t" for _, side in crashes) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python tests/fuzz", description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=0, help="the first program's; the others' follow")
    parser.add_argument("--steps", type=int, default=18)
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--messages", action="store_true", help="compare the first sentence of errors too")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after that long")
    parser.add_argument("--show", type=int, default=20, help="how many differences to print in full")
    parser.add_argument("--progress", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def _supervised(given: argparse.Namespace, seed: int, count: int) -> dict:
    """Run a part in a process, and continue after a program that ends the process."""
    until = time.time() + given.seconds
    total: dict = {"done": 0, "kinds": collections.Counter(), "crashes": []}
    end = seed + count
    while seed < end and time.time() < until:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [sys.executable, __file__, str(end - seed), "--seed", str(seed), "--steps", str(given.steps), "--show",
                       str(given.show), "--seconds", str(until - time.time()), "--progress", file.name]
            code = subprocess.run([*command, *["--messages"] * given.messages]).returncode
            side, _, state = Path(file.name).read_text().partition(" ")
        if not state:
            raise SystemExit(code or 1)
        found = json.loads(state)
        total["done"] += found["done"]
        total["kinds"].update(found["kinds"])
        if not code:
            break
        if code > 0:
            raise SystemExit(code)
        total["crashes"].append((found["seed"], side))
        seed = found["seed"] + 1
    return total


def _work(given: argparse.Namespace) -> None:
    from libraries import library
    from programs import Pair, run
    torch, jtorch = library("torch"), library("jtorch")
    policy = importlib.import_module("jtorch.engine.policy")
    importlib.import_module("jtorch.engine.buffer_reuse").LEAST = 0        # Small arrays are overwritten too.
    gc.collect()
    gc.freeze()         # Frozen objects of the imports slow no collection down.
    started, kinds = time.time(), collections.Counter()
    file = os.open(given.progress, os.O_WRONLY)
    Pair.note = staticmethod(lambda side: os.pwrite(file, side, 0))
    for seed in range(given.seed, given.seed + given.programs):
        _tell(file, seed, seed - given.seed, kinds)
        if time.time() - started > given.seconds:
            return
        policy.DOZENS = 64 * (seed % 2)        # In every second program parts are written at once.
        policy.MANY = 16 * (seed % 3)                  # In every third program new paths make no states.
        found = run(seed, torch, jtorch, given.steps, given.messages)
        if found is None:
            continue
        kind = re.sub(r"\bt\d+|\bn\d+|\d+", "_", found.lines[-1])[:60]
        kinds[kind] += 1
        if kinds[kind] == 1 and len(kinds) <= given.show:
            print(f"---- program {seed}\n{found}\n", flush=True)
    _tell(file, seed + 1, given.programs, kinds)


def _tell(file: int, seed: int, done: int, kinds: collections.Counter) -> None:
    text = b"t " + json.dumps({"seed": seed, "done": done, "kinds": kinds}).encode()
    os.pwrite(file, text, 0)
    os.ftruncate(file, len(text))


if __name__ == "__main__":
    sys.exit(main())
