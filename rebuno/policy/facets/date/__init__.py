"""The facet of dates: the calendar day that a text names."""
