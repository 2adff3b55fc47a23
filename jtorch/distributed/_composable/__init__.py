"""torch.distributed._composable: the old place of torch.distributed.fsdp.fully_shard."""
