"""What the language computes with: JSON values, whole words, globs, regular expressions, and the spans of a text."""
