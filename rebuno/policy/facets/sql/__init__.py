"""The facets of SQL: statements, tables, and functions."""
