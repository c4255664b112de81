"""Dynamic networks: effects after some moments, forecasts and simulation."""
