"""torch.quasirandom: points that fill a cube evenly. The directions are SciPy's, the points and their scrambling PyTorch's."""
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
        """The next ``n`` points, in rows."""
        dtype = dtype or get_default_dtype()
        first = not self.num_generated
        points = self._advance(n - first, self.num_generated - (not first))
        result = from_numpy(points).to(dtype) * 2.0**-self.MAXBIT       # type: ignore[attr-defined]
        if first:
            result = functions.cat([self._first_point.to(dtype), result], 0)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)      # type: ignore[attr-defined,no-any-return]

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next ``2**m`` points. ValueError unless all that were drawn are then a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                             f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to "
                             "do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begins again."""
        self.quasi.copy_(self.shift)        # type: ignore[attr-defined]
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out ``n`` points."""
        first = not self.num_generated
        self._advance(n - first, self.num_generated - (not first))
        self.num_generated += n
        return self

    def _advance(self, n: int, generated: int) -> np.ndarray:
        """The next ``n`` points as integers, from what the last was."""
        if n <= 0:
            return np.zeros((0, self.dimension), np.int64)
        count = np.arange(generated, generated + n)
        changed = np.log2(~count & (count + 1)).astype(np.int64)        # the lowest bit that is 0: the gray code's step
        steps = self.sobolstate.numpy().T[changed]
        steps[0] ^= self.quasi.numpy()
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi.copy_(from_numpy(points[-1].copy()))     # type: ignore[attr-defined]
        return points

    def _scrambled(self) -> Tensor:
        """Scrambles the directions by random lower triangular matrices of bits; the random shift of all points."""
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
    """The direction numbers of Joe and Kuo."""
    from scipy.stats import qmc
    return qmc.Sobol(dimension, scramble=False, bits=bits)._sv.astype(np.int64)
