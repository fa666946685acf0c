"""What these exercises may not use."""
from __future__ import annotations

KERNEL = ("F.scaled_dot_product_attention", "F.multi_head_attention_forward")
