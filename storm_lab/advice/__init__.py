"""Find out by emulation how a topology runs best on given machines, and summarise it on one page."""
