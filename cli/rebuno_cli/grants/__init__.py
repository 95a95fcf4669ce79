"""`rebuno grant`: the grants that outlive the run whose question they answered."""
