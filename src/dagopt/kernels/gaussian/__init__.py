"""Log-determinants of sub-matrices, and the minimum-norm point over them."""
