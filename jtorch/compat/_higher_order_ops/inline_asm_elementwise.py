"""torch._higher_order_ops.inline_asm_elementwise: GPU assembler, which is not built; its use raises NotImplementedError."""
from jtorch._base.not_built import placeholder

inline_asm_elementwise = placeholder("_higher_order_ops.inline_asm_elementwise", "inline_asm_elementwise")
