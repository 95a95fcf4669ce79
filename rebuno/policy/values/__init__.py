"""The values of the language: JSON values, whole words, globs, regular expressions, and places in a text."""
