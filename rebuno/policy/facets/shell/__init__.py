"""The facets of shell text: commands, programs, and files that are redirected to."""
