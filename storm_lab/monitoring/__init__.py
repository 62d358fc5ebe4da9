"""What watches a running topology and acts on what it sees: monitors, load database, generator, tuner."""
