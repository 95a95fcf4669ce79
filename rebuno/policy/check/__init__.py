"""What is wrong with a bundle that can be read, and what its author should know."""
