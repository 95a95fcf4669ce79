"""`rebuno store`: copies of a store."""
