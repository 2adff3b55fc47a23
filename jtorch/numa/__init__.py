"""torch.numa: which CPUs the processes of several GPUs run on."""
