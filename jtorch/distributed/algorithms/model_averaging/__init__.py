"""torch.distributed.algorithms.model_averaging: average the parameters of several processes every few steps."""
