"""torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook: send gradients as products of two low-rank matrices.

A gradient is viewed as a matrix M. The ranks average P = M Q, orthogonalize P, and average Q = M^T P. The product P Q^T
approximates the mean. The error of the approximation is added to the next gradient.

Source: Vogels, Karimireddy and Jaggi, "PowerSGD: practical low-rank gradient compression for distributed optimization", 2019.
"""
from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._api.flattening import flattened, unflattened
from jtorch._base.generator import Generator
from jtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from jtorch.distributed.collectives import all_reduce
from jtorch.distributed.membership import _group_or_default

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

logger = logging.getLogger(__name__)


class PowerSGDState:
    """The options of a PowerSGD hook, and the factors and errors that it keeps for each bucket.

    Args:
        process_group: the ranks; all, if None.
        matrix_approximation_rank: the rank of P and Q.
        start_powerSGD_iter: the first backward whose gradients are compressed; earlier ones are averaged in full.
        min_compression_rate: the least compression rate; a gradient that would be compressed less is averaged in full.
        use_error_feedback: whether the error of a compression is added to the next gradient.
        warm_start: whether Q starts from the previous backward's Q, rather than from random numbers.
        orthogonalization_epsilon: a value added to the norms of columns, which may be zero.
        random_seed: the seed of the random Q.
        compression_stats_logging_frequency: the number of backwards between two log lines.
        batch_tensors_with_same_shape: whether gradients of one shape are multiplied as one batch.

    Raises:
        ValueError: error feedback or warm start with a start before the third backward.

    """

    __slots__ = ("batch_tensors_with_same_shape", "compression_stats_logging_frequency", "error_dict", "iter",
                 "matrix_approximation_rank", "min_compression_rate", "next_stats_report", "orthogonalization_epsilon",
                 "p_memory_dict", "process_group", "q_memory_dict", "rng", "start_powerSGD_iter",
                 "total_numel_after_compression", "total_numel_before_compression", "use_error_feedback", "warm_start")

    def __init__(self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000,
                 min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
                 orthogonalization_epsilon: float = 0, random_seed: int = 0,
                 compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because "
                             "PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        # error_dict maps a bucket's index to the bucket's error. The other two dicts hold P and Q by the same index.
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = self.next_stats_report = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict:
        logger.warning("NOTE: Process group is not serializable and excluded from a saved state.")
        return {name: getattr(self, name) for name in self.__slots__ if name != "process_group"}

    def __setstate__(self, state: dict) -> None:
        self.process_group = _group_or_default(None)
        logger.warning("NOTE: Process group will be set to a default group (i.e. the world size).                If a "
                       "different group is desired, please set `self.process_group` after PowerSGD state is loaded.")
        for name, value in state.items():
            setattr(self, name, value)

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a backward when its last bucket comes."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """Return (compression rate, numbers before compression, numbers sent)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    # ------------------------------------------------------------ steps of compressing a bucket

    def _count_sent(self, bucket: Any, before: int, after: int) -> None:
        """Add to the compression statistics, and log them every ``compression_stats_logging_frequency`` backwards."""
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after
        if bucket.is_last() and self.iter >= self.next_stats_report:
            logger.info("Compression stats: iter %s, rate %s, total before compression %s, total after compression %s",
                        self.iter, *self.compression_stats())
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency

    def _add_error(self, index: int, flat: Any) -> Any:
        """Add the previous error of the bucket to ``flat``; return a copy of the sum if error feedback needs one."""
        if not self.use_error_feedback:
            return None
        if index in self.error_dict:
            flat.add_(self.error_dict[index])
        return flat.detach().clone()

    def _begin(self, index: int, p_size: int, q_size: int, like: Any) -> bool:
        """Allocate the memory of a bucket's P and Q; return whether it is new, so that Q has to be drawn."""
        if self.warm_start and index in self.p_memory_dict:
            return False
        for memory, size in ((self.p_memory_dict, p_size), (self.q_memory_dict, q_size)):
            memory[index] = functions.empty(size, dtype=like.dtype, device=like.device)
        return True

    def _end(self, bucket: Any, given: Any, sent: Any) -> None:
        """Store the error of the bucket, and count the backward."""
        if given is not None:
            self.error_dict[bucket.index()] = given - sent
        if not self.warm_start:
            self.p_memory_dict.clear()
            self.q_memory_dict.clear()
        self.maybe_increase_iter(bucket)

    def _make_random(self, qs: list) -> None:
        """Fill each Q with random numbers that are the same on all ranks."""
        source = Generator().manual_seed(int(self.rng.randint(1_000_000_000)))
        for q in qs:
            q.copy_(functions.randn(*q.shape, generator=source, dtype=q.dtype))


def _orthogonalize(matrices: Any, epsilon: float = 0) -> None:
    """Orthonormalize the columns of matrices (count, n, rank) in place."""
    rank = matrices.shape[2]
    if rank > 2 and matrices.element_size() > 2:
        matrices.copy_(functions.qr(matrices)[0])
        return
    for i in range(rank):       # Gram-Schmidt
        column, rest = matrices[:, :, i:i + 1], matrices[:, :, i + 1:]
        column.div_(functions.norm(column, dim=1, keepdim=True) + epsilon)
        rest.sub_((column * rest).sum(1, keepdim=True) * column)


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Return the mean of a bucket's gradients, each compressed as a matrix of its own. See PyTorch's hook of this name."""
    group, flat = _group_or_default(state.process_group), bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    given = state._add_error(bucket.index(), flat)
    whole, batches = _divide_gradients(state, bucket)
    with_p, with_q = _rounds(state, bucket, batches, given, flat, state.orthogonalization_epsilon)

    def with_whole(done: Any) -> Any:
        if whole:
            for t, mean in zip(whole, unflattened(done.value()[0].div_(group.size()), whole), strict=True):
                t.copy_(mean)
        return _begin_sum(state.p_memory_dict[bucket.index()], group).wait()
    sent = flattened(whole) if whole else functions.empty(0, dtype=flat.dtype, device=flat.device)
    return _begin_sum(sent, group).then(with_whole).then(with_p).then(with_q)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Return the mean of a bucket, compressed as one square matrix. See PyTorch's hook of this name."""
    group, flat = _group_or_default(state.process_group), bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    n, side = flat.numel(), math.ceil(math.sqrt(flat.numel()))
    padded = functions.cat([flat, functions.zeros(side * side - n, dtype=flat.dtype, device=flat.device)])
    state._count_sent(bucket, n, 2 * side * state.matrix_approximation_rank)
    given, square = state._add_error(bucket.index(), padded), padded.view(side, side)
    with_p, with_q = _rounds(state, bucket, [(square.unsqueeze(0), [square])], given, padded, 0)
    summed = _begin_sum(state.p_memory_dict[bucket.index()], group)
    return summed.then(with_p).then(with_q).then(lambda _: flat.copy_(padded[:n]))


def _rounds(state: PowerSGDState, bucket: Any, batches: list, given: Any, sent: Any, epsilon: float) -> tuple[Callable, Callable]:
    """Compute each P, and return the continuations that run after the sums of P and of Q.

    Args:
        state: the hook's state.
        bucket: the gradients.
        batches: pairs of a batch of matrices and the gradients in it.
        given: the gradients before compression, for error feedback; None without it.
        sent: the flat buffer that receives the approximation in place of the gradients.
        epsilon: a value added to the norms of columns.

    """
    group, index = _group_or_default(state.process_group), bucket.index()
    ps, qs = _factors(state, index, [m for m, _ in batches], sent)
    for (m, _), p, q in zip(batches, ps, qs, strict=True):
        _orthogonalize(q, epsilon)
        p.copy_(m @ q)

    def with_p(done: Any) -> Any:
        for (m, _), p, q in zip(batches, ps, qs, strict=True):
            _orthogonalize(p, epsilon)
            q.copy_(m.transpose(1, 2) @ p)
        return _begin_sum(state.q_memory_dict[index], group).wait()

    def with_q(done: Any) -> Any:
        done.value()[0].div_(group.size())
        for (_, gradients), p, q in zip(batches, ps, qs, strict=True):
            for gradient, made in zip(gradients, p @ q.transpose(1, 2), strict=True):
                gradient.copy_(made)
        state._end(bucket, given, sent)
        return sent
    return with_p, with_q


def _begin_sum(memory: Any, group: Any) -> Any:
    """Begin to sum ``memory`` over the ranks; return the future of a list with ``memory``."""
    return all_reduce(memory, group=group, async_op=True).get_future()      # type: ignore[union-attr]


def _divide_gradients(state: PowerSGDState, bucket: Any) -> tuple[list, list]:
    """Return the gradients that are sent in full, and the others as batches of matrices with their gradients."""
    whole: list = []
    by_shape: dict[tuple, list] = defaultdict(list)
    before = after = 0
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
        n, m = matrix.shape
        thin = (n + m) * min(n, m, state.matrix_approximation_rank)
        fits = thin * state.min_compression_rate < n * m
        (by_shape[n, m].append(matrix) if fits else whole.append(gradient))
        before, after = before + n * m, after + (thin if fits else n * m)
    state._count_sent(bucket, before, after)
    together = list(by_shape.values())
    if not state.batch_tensors_with_same_shape:
        together = [[matrix] for alike in together for matrix in alike]
    batches = [(functions.stack(alike), alike) for alike in together]
    return whole, batches


def _factors(state: PowerSGDState, index: int, batches: list, flat: Any) -> tuple[list, list]:
    """Return P and Q of each batch as views of the bucket's memory, with shape (count, n or m, rank)."""
    ranks = [min(*b.shape[1:], state.matrix_approximation_rank) for b in batches]
    p_shapes = [(b.shape[0], b.shape[1], r) for b, r in zip(batches, ranks, strict=True)]
    q_shapes = [(b.shape[0], b.shape[2], r) for b, r in zip(batches, ranks, strict=True)]
    new = state._begin(index, sum(map(math.prod, p_shapes)), sum(map(math.prod, q_shapes)), flat)
    ps, qs = _views(state.p_memory_dict[index], p_shapes), _views(state.q_memory_dict[index], q_shapes)
    if new:
        state._make_random(qs)
    return ps, qs


def _views(memory: Any, shapes: Sequence[tuple[int, ...]]) -> list:
    parts = memory.split([math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
