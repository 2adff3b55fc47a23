"""Pipeline parallelism: each rank runs some stages of a model. See torch.distributed.pipelining."""
