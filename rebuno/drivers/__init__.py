"""Drivers of resources: a folder, and a working tree of a git repository. See `docs/resources.md`."""

from rebuno.drivers.folder import FolderDriver
from rebuno.drivers.git import GitDriver

__all__ = ["FolderDriver", "GitDriver"]
