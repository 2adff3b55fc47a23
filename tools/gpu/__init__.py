"""What ``scripts/gpu`` runs: checks, examples, tests and benchmarks on a GPU, and a report of them. See docs/gpu.md."""
