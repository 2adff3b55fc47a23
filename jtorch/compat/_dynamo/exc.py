"""torch._dynamo.exc: errors of PyTorch's compiler, for ``except`` clauses. None is raised in jtorch."""
from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """The base class of most errors of the compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """An internal error of the compiler."""


class Unsupported(TorchDynamoException):
    """An operation that cannot be traced."""


class UserError(Unsupported):
    """A request of the user that cannot be met."""


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
    """A program was compiled too often, where this is an error."""


class IncorrectUsage(Exception):
    """A decorator was used wrongly."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """The trace has to begin again."""


class ResetRequired(TorchDynamoException):
    """The caller has to call ``reset`` first."""
