"""`rebuno key`: the keys of the HTTP interface."""
