"""`rebuno key rm`: revokes an API key."""

from rebuno_cli import connection, options


def rm(ref: options.Key, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """Revoke an API key."""
    from rebuno_cli.render import output

    gone = connection.work(db, url, lambda desk: desk.revoke_key(ref))
    if as_json:
        output.write_json({"id": gone.id})
    else:
        output.write_text(f"key {gone.id} is revoked")
    return 0
