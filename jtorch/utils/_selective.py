"""Selective checkpoints: a policy chooses the operators whose results are kept for the recomputation."""
from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any


class SelectiveCheckpointContext:
    """What a policy learns of an operator's call. See torch.utils.checkpoint.SelectiveCheckpointContext.

    Args:
        is_recompute (bool): always False, since the recomputation asks no policy.
        op_output: the operator's result.

    Example::

        >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False, op_output=3).op_output
        3

    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output


class CheckpointPolicy(enum.Enum):
    """The choice of selective checkpointing for an operation's result. See torch.utils.checkpoint.CheckpointPolicy.

    The results of ``MUST_SAVE`` and ``PREFER_SAVE`` are kept. All others are computed again.

    Example::

        >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'

    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


def _policy_from_bool(b: bool) -> CheckpointPolicy:
    """Return the policy for an operation that is in the list of saved operations, or not."""
    return CheckpointPolicy.MUST_SAVE if b else CheckpointPolicy.PREFER_RECOMPUTE


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Return the contexts of a checkpoint that keeps the results of chosen operators.

    Pass ``functools.partial(create_selective_checkpoint_contexts, policy)`` as ``context_fn`` of ``checkpoint``. See
    torch.utils.checkpoint.create_selective_checkpoint_contexts.

    Args:
        policy_fn_or_list (function or list): a function of a SelectiveCheckpointContext, an operator and its arguments that
            returns a CheckpointPolicy or a bool; or a list of the operators whose results are kept.
        allow_cache_entry_mutation (bool): whether kept results may be written to in place. The recomputation then sees the
            new values.

    Returns:
        the context managers of the first run and of the recomputation.

    Raises:
        ValueError: a list with something else than an overload, such as ``torch.ops.aten.mm`` without ``.default``.
        TypeError: neither a function nor a list.
        RuntimeError: in the backward, if a kept result was written to, or if the recomputation calls other operators.

    Example::

        >>> import functools
        >>> contexts = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
        >>> x = torch.ones(2, 2, requires_grad=True)
        >>> f = lambda x: (x @ x).sin().sum()
        >>> torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False, context_fn=contexts).backward()
        >>> x.grad
        tensor([[-1.6646, -1.6646],
                [-1.6646, -1.6646]])

    """
    from jtorch.utils._selective_modes import Cached, Caching, check_overloads
    if isinstance(policy_fn_or_list, list):
        check_overloads(policy_fn_or_list)
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")

    def listed(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> bool:
        return op in policy_fn_or_list
    policy: Callable = policy_fn_or_list if callable(policy_fn_or_list) else listed
    kept: dict[Any, dict[int, Any]] = defaultdict(dict)
    return Caching(policy, kept), Cached(kept, allow_cache_entry_mutation)
