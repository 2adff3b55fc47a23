"""Sharded tensors and modules. The public names are in torch.distributed.tensor, fsdp, checkpoint and pipelining."""
