"""The control plane: Nimbus, ZooKeeper, supervisors, workers, migration and faults on the virtual clock."""
