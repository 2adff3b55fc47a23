"""Tensors and modules that several processes share. The public names are those of torch.distributed.tensor, fsdp, checkpoint."""
