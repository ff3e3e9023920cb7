"""How lab 00 is run. Its step is no SGEMM: its program has experiments in place of shapes."""

# One element, less than a warp, less than the grid, more than it, and lengths that nothing divides.
SHAPES = [f"add -n {elements}" for elements in (1, 31, 1000, 4096, 65536, 100003)]
COUNTED = "add -n 65536"
GRIDS = 4  # that `add` adds its vectors with


def is_basic(name):
    """Whether a lab, "00-hunt", is one of step 00."""
    return name.startswith("00")


def flop_of(record):
    return GRIDS * record["elements"]
