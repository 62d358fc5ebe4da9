"""The papers: one package each, with its testbed, topologies and experiments, and the claims they answer."""
