"""What is kept of a result: where it comes from, and the file it is saved in."""
