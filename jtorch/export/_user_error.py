"""The error of arguments that do not fit."""


class UserError(RuntimeError):
    """Arguments of ``torch.export.export`` that do not go together, or with the model."""
