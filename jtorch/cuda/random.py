"""torch.cuda.random: the random numbers of GPUs."""
from __future__ import annotations

from jtorch.cuda import get_rng_state as get_rng_state
from jtorch.cuda import get_rng_state_all as get_rng_state_all
from jtorch.cuda import initial_seed as initial_seed
from jtorch.cuda import manual_seed as manual_seed
from jtorch.cuda import manual_seed_all as manual_seed_all
from jtorch.cuda import seed as seed
from jtorch.cuda import seed_all as seed_all
from jtorch.cuda import set_rng_state as set_rng_state
from jtorch.cuda import set_rng_state_all as set_rng_state_all
