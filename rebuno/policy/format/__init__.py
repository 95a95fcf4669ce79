"""The formatter: one layout for all bundles."""
