

def _products_around(xp, write, **options):
    """Return a linear layer's results in one autocast context, before and after a write to its weight."""
    weight, x = xp.ones(2, 2, requires_grad=True), xp.ones(1, 2)
    with xp.autocast("cpu", dtype=xp.bfloat16, **options):
        before = xp.nn.functional.linear(x, weight)
        write(weight)
        after = xp.nn.functional.linear(x, weight)
    return before.tolist(), after.tolist()


def _times_three(weight):
    weight.detach().mul_(3)


def test_a_write_that_counts_makes_autocast_cast_anew():
    """PyTorch keeps the old copy, see docs/differences.md."""
    import jtorch
    assert _products_around(jtorch, _times_three) == ([[2, 2]], [[6, 6]])


def test_writes_that_leave_the_copy_as_it_is(xp):
    assert _products_around(xp, lambda w: w.data.mul_(3)) == ([[2, 2]], [[2, 2]])
    assert _products_around(xp, _times_three, cache_enabled=False) == ([[2, 2]], [[6, 6]])

    def cleared(weight):
        _times_three(weight)
        xp.clear_autocast_cache()
    assert _products_around(xp, cleared) == ([[2, 2]], [[6, 6]])
