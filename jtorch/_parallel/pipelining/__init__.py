"""Models in stages, of which each rank runs some. The public names are those of torch.distributed.pipelining."""
