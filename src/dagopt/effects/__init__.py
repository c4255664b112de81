"""What follows if a column is set: adjustment sets, possible effects over a class of DAGs, and their estimates."""
