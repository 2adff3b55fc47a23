"""torch._functorch.config: options of PyTorch's backward compiler with its defaults. They can be set and have no effect."""
from __future__ import annotations

import sys

from jtorch._base.settings_module import SettingsModule

activation_memory_budget = 1.0
activation_memory_budget_runtime_estimator = "flops"
activation_memory_budget_solver = "dp"
aggressive_recomputation = False
ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = True
ban_recompute_materialized_backward = True
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
debug_partitioner = False
donated_buffer = True
enable_autograd_cache = True
fake_tensor_propagate_real_tensors = False
functionalize_rng_ops = False
recompute_views = False
static_weight_shapes = True
treat_parameters_as_free_to_save = True

sys.modules[__name__].__class__ = SettingsModule
