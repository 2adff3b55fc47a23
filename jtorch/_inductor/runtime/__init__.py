"""torch._inductor.runtime: where PyTorch's code generator keeps files."""
