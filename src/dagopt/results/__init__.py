"""Records of a result: its origin, its summary, and the file it is saved in."""
