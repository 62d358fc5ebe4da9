"""Workloads: inputs, and user code that runs once over them and leaves a trace to replay."""
