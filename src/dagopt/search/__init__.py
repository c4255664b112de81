"""Search over DAGs and over orders."""
