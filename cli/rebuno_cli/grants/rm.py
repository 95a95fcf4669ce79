"""`rebuno grant rm`: takes a grant back."""

import click

from rebuno_cli import connection, options


@click.command("rm")
@click.argument("ref", metavar="ID", help="The grant's id, or at least 4 characters of its beginning.")
@click.option(
    "--as", "who", default="", metavar="NAME", help="Who does so; if not given, your login name, or the server's key."
)
@options.db
@options.url
@options.as_json
def rm(ref: str, who: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Revoke a grant: from now on it lets nothing start."""
    from rebuno_cli.render.show import show

    one = connection.work(db, url, lambda backend: backend.revoke_grant(ref, by=who))
    show(as_json, lambda: one.model_dump(mode="json"), lambda: f"grant {one.id} is revoked")
