"""From recorded executions to the narrowest readable bundle that lets them run, with a case for each step."""
