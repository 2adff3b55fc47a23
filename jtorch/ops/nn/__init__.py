"""The ops of torch.nn.functional."""
