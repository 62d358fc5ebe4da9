"""Services that observe a running topology and react: monitors, load database, schedule generator, tuner."""
