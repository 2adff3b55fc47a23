"""torch.distributed.algorithms.model_averaging: models of several processes, made alike now and then."""
