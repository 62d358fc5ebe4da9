"""Between plain Python and the compiled kernel: laying out its arrays, playing it, writing its rows."""
