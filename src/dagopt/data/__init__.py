"""Tables: reading, checking, discretizing, resampling and writing them."""
