"""torch.distributed.elastic.multiprocessing."""
