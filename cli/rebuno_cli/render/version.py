"""Says which version this is. It is asked often and by scripts, so nothing is imported for it that it does not need."""

import rebuno
from rebuno_cli.render.output import write_json, write_text


def version(*, as_json: bool) -> None:
    """Prints the version."""
    if as_json:
        write_json({"version": rebuno.__version__})
    else:
        write_text(f"rebuno-kernel {rebuno.__version__}")
