"""Repeated work on the meta device is never compiled, and work of the CPU goes on beside it."""


def test_memory_is_made_for_what_is_on_meta(xp):
    for _ in range(50):
        layer = xp.nn.Linear(3, 4, device="meta")
        shape_only = layer(xp.ones(2, 3, device="meta"))
        made = xp.empty_like(shape_only, device="cpu").fill_(2)
        assert made.sum().item() == 16
    assert shape_only.is_meta and shape_only.shape == (2, 4)
