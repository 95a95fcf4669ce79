"""The facets of file paths: where in a tree of files a text points."""
