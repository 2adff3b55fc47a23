"""torch.distributed.elastic: the part that programs use after a launcher has started them."""
