"""torch.distributed.elastic.utils."""
