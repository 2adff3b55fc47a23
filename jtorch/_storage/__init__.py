"""torch.UntypedStorage and TypedStorage: a storage's memory as users see it."""
