"""The wire format: the only place that knows the names of JSON fields."""
