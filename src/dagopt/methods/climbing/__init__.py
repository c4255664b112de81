"""Hill climbing and tabu search over DAGs."""
