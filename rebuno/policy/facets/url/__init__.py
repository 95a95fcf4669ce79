"""The facets of URLs: hosts, schemes, ports, addresses, and the links in a text."""
