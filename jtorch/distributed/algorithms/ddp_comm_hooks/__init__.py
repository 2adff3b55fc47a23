"""torch.distributed.algorithms.ddp_comm_hooks: other ways to average gradients."""
