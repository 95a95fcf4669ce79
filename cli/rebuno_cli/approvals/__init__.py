"""`rebuno approval`: the questions that agents have asked, and their answers."""
