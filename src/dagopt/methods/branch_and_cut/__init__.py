"""Branch and cut over listed parent sets (GOBNILP's formulation)."""
