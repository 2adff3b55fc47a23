"""torch.utils.data.datapipes.utils: helpers of pipes over files."""
