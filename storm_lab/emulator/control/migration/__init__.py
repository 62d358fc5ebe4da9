"""Migration methods: Storm's own, T-Storm's and N-Storm's."""
