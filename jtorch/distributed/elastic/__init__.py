"""torch.distributed.elastic: what programs that a launcher starts use of it."""
