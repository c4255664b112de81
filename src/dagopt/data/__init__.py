"""Tables: reading them, looking at them, simulating them."""
