"""`rebuno dev`: a server for development, without authentication."""

import click

from rebuno_cli.serve import options


@click.command("dev")
@options.db(":memory:")
@options.host
@options.port
@options.layers
@options.shadows
@options.manifest
@options.notify
@options.public_url
@options.webhooks
@options.max_attempts
@options.unreachable_for
@options.max_keys
@options.bearer_token
@options.encrypt
@options.key_ring
@options.key_command
def dev(
    db: str,
    host: str,
    port: int,
    layer: tuple[str, ...],
    shadow: tuple[str, ...],
    config: str,
    notify: str,
    public_url: str,
    allow_webhook: tuple[str, ...],
    max_attempts: int,
    unreachable_for: str,
    max_keys: int,
    bearer_token: str,
    encrypt: bool,
    key_ring: str,
    key_command: str,
) -> int:
    """Serve a kernel for trying things out: in memory unless `--db` names a file, without any authentication of clients
    (a token that is sent is checked), everything allowed to agents without a bundle. Every decision is shown.
    """
    import logging

    from rebuno.kernel import Settings
    from rebuno.server.config import Config
    from rebuno_cli.render import logs, output

    wanted = Config(
        db,
        host=host,
        port=port,
        bearer_token=bearer_token,
        open_to_all=True,
        permissive=True,
        layers=layer,
        shadows=shadow,
        webhooks=allow_webhook,
        manifest=config,
        notify=notify,
        public_url=public_url,
        settings=Settings(
            max_attempts=max_attempts,
            unreachable_for=options.seconds("--unreachable-for", unreachable_for),
            max_keys=max_keys,
        ),
        grace=2.0,
        encrypt=encrypt,
        key_ring=key_ring,
        key_command=key_command,
    )

    def started(url: str) -> None:
        where = "forgotten at the end" if db == ":memory:" else f"kept in {logs.without_password(db)}"
        output.write_text(f"rebuno dev at {url}, {where}; console at {url}/console; Ctrl-C ends it")
        if host not in ("127.0.0.1", "localhost", "::1"):
            logging.getLogger("rebuno").warning("anyone who reaches %s may do everything", url)

    logging.getLogger("rebuno.server.decisions").setLevel(logging.DEBUG)
    return options.serve(wanted, started, logs.Shown(), logging.INFO)
