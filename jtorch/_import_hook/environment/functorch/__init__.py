"""PyTorch's old top-level package of function transforms, which are in ``torch.func``."""
from torch import __version__
from torch._functorch.make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from torch.fx.experimental.proxy_tensor import make_fx

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "__version__", "combine_state_for_ensemble", "functional_call",
           "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional",
           "make_functional_with_buffers", "make_fx", "stack_module_state", "vjp", "vmap"]
