"""The kernel's state: record arrays, the numbers that name kinds, and how compiled code reaches them."""
