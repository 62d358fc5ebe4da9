"""What no paper prints: the emulator beside real Storm."""
