"""torch.quasirandom: Sobol points. SciPy gives the direction numbers; points and scrambling equal PyTorch's."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jtorch._api import functions
from jtorch._api.creation import from_numpy
from jtorch._base.generator import Generator
from jtorch.dtype import get_default_dtype, int64
from jtorch.tensor import Tensor

if TYPE_CHECKING:
    from jtorch.dtype import dtype as Dtype


class SobolEngine:
    """Draws points of a (scrambled) Sobol sequence. See torch.quasirandom.SobolEngine."""

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = from_numpy(_directions(dimension, self.MAXBIT))
        self.shift = self._scrambled() if scramble else functions.zeros(dimension, dtype=int64)
        self.quasi = self.shift.clone()     # type: ignore[attr-defined]
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """Return the next ``n`` points, one per row."""
        dtype = dtype or get_default_dtype()
        first = not self.num_generated
        points = self._advance(n - first, self.num_generated - (not first))
        result = from_numpy(points).to(dtype) * 2.0**-self.MAXBIT       # type: ignore[attr-defined]
        if first:
            result = functions.cat([self._first_point.to(dtype), result], 0)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)      # type: ignore[attr-defined,no-any-return]

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """Return the next ``2**m`` points; raise ValueError unless the total number is then a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                             f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to "
                             "do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Restart the sequence."""
        self.quasi.copy_(self.shift)        # type: ignore[attr-defined]
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip ``n`` points."""
        first = not self.num_generated
        self._advance(n - first, self.num_generated - (not first))
        self.num_generated += n
        return self

    def _advance(self, n: int, generated: int) -> np.ndarray:
        """Return the next ``n`` points as integers, computed from the last point."""
        if n <= 0:
            return np.zeros((0, self.dimension), np.int64)
        count = np.arange(generated, generated + n)
        # Each point differs from the last one by the direction number of the lowest zero bit of ``count``.
        changed = np.log2(~count & (count + 1)).astype(np.int64)
        steps = self.sobolstate.numpy().T[changed]
        steps[0] ^= self.quasi.numpy()
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi.copy_(from_numpy(points[-1].copy()))     # type: ignore[attr-defined]
        return points

    def _scrambled(self) -> Tensor:
        """Scramble the directions by random lower triangular bit matrices, and return a random shift for all points."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = functions.randint(2, (self.dimension, self.MAXBIT), generator=generator)
        matrices = functions.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril().numpy()
        diagonal = np.arange(self.MAXBIT)
        matrices[:, diagonal, diagonal] = 1
        places = diagonal[::-1]
        given = self.sobolstate.numpy()[:, :, None] >> places & 1
        made = np.einsum("dpk,djk->djp", matrices, given) % 2
        self.sobolstate = from_numpy((made << places).sum(-1))
        return from_numpy((bits.numpy() << diagonal).sum(-1))

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"] + ["scramble=True"] * self.scramble
        return f"{type(self).__name__}({', '.join(shown + ([] if self.seed is None else [f'seed={self.seed}']))})"


def _directions(dimension: int, bits: int) -> Any:
    """Return the direction numbers of Joe and Kuo."""
    from scipy.stats import qmc
    return qmc.Sobol(dimension, scramble=False, bits=bits)._sv.astype(np.int64)
