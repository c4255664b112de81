"""The methods: each is a function from a problem to a result."""
