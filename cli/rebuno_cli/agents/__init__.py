"""`rebuno agent`: registers and shows agents."""
