"""`rebuno audit`: a store's logs for a system that keeps them elsewhere."""
