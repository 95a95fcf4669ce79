"""From text to decision. Pure: no clock, no network, no store; only `source` reads files, and only bundle files."""
