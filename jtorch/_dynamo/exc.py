"""torch._dynamo.exc: errors of PyTorch's compiler, for ``except`` clauses. None is raised here."""
from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """Of which all others are."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler."""


class Unsupported(TorchDynamoException):
    """What cannot be traced."""


class UserError(Unsupported):
    """What the user has asked for cannot be done."""


class UserErrorType:
    """The kinds of UserError."""

    DYNAMIC_CONTROL_FLOW, ANTI_PATTERN, STANDARD_LIBRARY, CONSTRAINT_VIOLATION, DYNAMIC_DIM, INVALID_INPUT = range(6)


class TorchRuntimeError(TorchDynamoException):
    """An error of the traced program."""


class BackendCompilerFailed(TorchDynamoException):
    """An error of a backend."""


class RecompileError(TorchDynamoException):
    """A program would have to be compiled again."""


class RecompileLimitExceeded(Unsupported):
    """A program was compiled too often."""


class FailOnRecompileLimitHit(Exception):
    """The same, where that is an error."""


class IncorrectUsage(Exception):
    """A decorator was used wrongly."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """Tracing begins again."""


class ResetRequired(TorchDynamoException):
    """``reset`` has to be called first."""
