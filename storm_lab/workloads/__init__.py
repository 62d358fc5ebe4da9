"""What flows: inputs, and user code that is run once over them and leaves a trace."""
