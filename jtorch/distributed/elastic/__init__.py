"""torch.distributed.elastic: the part of it that programs use which a launcher started."""
