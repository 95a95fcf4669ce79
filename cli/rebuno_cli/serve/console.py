"""`rebuno console`: the pages of a store on this machine, or of a server, in the browser."""

from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options
from rebuno_cli.serve import options as serving

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command("console")
@options.db
@options.url
@click.option(
    "--port", type=click.IntRange(min=0, max=65535), default=0, metavar="PORT", help="On loopback; if not given, any."
)
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
def console(db: str | None, url: str | None, port: int, no_browser: bool) -> int:
    """Show questions, runs, policies and agents in a browser, and answer there. The pages are served on loopback to the
    one who comes by the printed link, which works once; Ctrl-C ends it. With `--url`, REBUNO_API_KEY says what may be
    seen and done.
    """
    import asyncio
    import logging
    import os
    import secrets

    from rebuno.packaged import needing
    from rebuno_cli.render import logs

    there = connection.server(db, url)
    with needing("server", "the console"):
        import uvloop

        from rebuno.console import forwarded, open_console

    started = _started(no_browser)
    if there:
        key = os.environ.get("REBUNO_API_KEY", "")
        work = forwarded(there, key, port=port, secret=secrets.token_bytes(32), started=started)
    else:
        work = open_console(connection.path(db), login=_login(), port=port, started=started)
    with serving.logged(logs.Shown(), logging.WARNING), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)
    return 0


def _started(no_browser: bool) -> "Callable[[str], None]":
    from rebuno_cli.render import output

    def told(link: str) -> None:
        output.write_text(f"console at {link}")
        output.write_text("the link works once; Ctrl-C ends the console")
        if not no_browser:
            import threading
            import webbrowser

            # A browser that takes the terminal would keep the server from answering it.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    return told


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        raise ValidationError("your login name is unknown here; set LOGNAME to it") from None
