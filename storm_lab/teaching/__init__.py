"""What notebooks for people who look around show: turns of a knob, and the journey of a tuple."""
