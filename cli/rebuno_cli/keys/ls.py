"""`rebuno key ls`: the API keys of a server."""

from rebuno_cli import connection, options


def ls(db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """List API keys, revoked ones too."""
    from rebuno_cli.render import console, keys, output

    found = connection.work(db, url, lambda backend: backend.keys())
    if as_json:
        output.write_json({"keys": [key.model_dump(mode="json") for key in found]})
    else:
        console.write(keys.keys(found))
    return 0
