"""The papers: one package each, with its testbed, topologies, experiments and the claims that they answer."""
