"""torch.numa: CPU affinities of processes that use several GPUs."""
