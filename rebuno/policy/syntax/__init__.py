"""From the text of a bundle to its tree, and everything that can be wrong on the way."""
