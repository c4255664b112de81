"""The only modules that import LP or IP solvers; each solver is imported when it is used."""
