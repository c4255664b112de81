"""A checker of proof files that shares no code with the methods and scores, only the reading of tables."""
