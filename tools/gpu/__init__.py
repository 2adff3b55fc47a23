"""The parts of ``scripts/gpu``: checks, examples, tests and benchmarks on a GPU, and their report. See docs/gpu.md."""
