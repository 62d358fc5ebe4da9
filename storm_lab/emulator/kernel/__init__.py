"""The compiled data plane: processors, queues, spouts, bolts, ackers and network, played event by event."""
