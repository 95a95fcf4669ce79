"""What happened: the timeline, verification, archives, and replays without effects."""
