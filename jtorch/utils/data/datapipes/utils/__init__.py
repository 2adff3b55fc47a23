"""torch.utils.data.datapipes.utils: what pipes of files share."""
