"""The studio: a local page for the whole way from a table to answers, over the public functions of dagopt."""
