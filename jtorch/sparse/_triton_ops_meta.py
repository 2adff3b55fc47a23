"""Parameters of Triton kernels for sparse products. jtorch has no such kernels, so the functions raise NotImplementedError."""
from jtorch._base.not_built import placeholder

get_meta, minimize, update, create_blocked_tensor = (
    placeholder("sparse._triton_ops_meta", name) for name in ("get_meta", "minimize", "update", "create_blocked_tensor"))
