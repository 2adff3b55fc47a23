"""The error for arguments that do not fit."""


class UserError(RuntimeError):
    """Arguments of ``torch.export.export`` that do not fit each other or the model."""
