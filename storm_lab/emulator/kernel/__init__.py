"""The compiled data plane: processors, queues, spouts, bolts, ackers and the network, event by event."""
