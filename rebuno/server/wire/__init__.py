"""What stands on the wire: the only place that knows the names of JSON fields."""
