"""Effects of setting a column: adjustment sets, possible effects over a class of DAGs, and their estimates."""
