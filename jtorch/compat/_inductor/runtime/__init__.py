"""torch._inductor.runtime: the folder of PyTorch's code generator."""
