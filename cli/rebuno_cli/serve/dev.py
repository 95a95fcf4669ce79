"""`rebuno dev`: a server for development, without authentication."""

import logging

from rebuno_cli.serve import options


def dev(
    db: options.Db = ":memory:",
    host: options.Host = "127.0.0.1",
    port: options.Port = 8080,
    layer: options.Layers = None,
    config: options.Manifest = "",
    allow_webhook: options.Webhooks = None,
    max_attempts: options.Attempts = 5,
    bearer_token: options.Token = "",
) -> int:
    """Serve a kernel for trying things out: in memory unless `--db` names a file, without any authentication of clients
    (a token that is sent is checked), everything allowed to agents without a bundle. Every decision is shown.
    """
    from rebuno.kernel.served.kernel import Settings
    from rebuno.server.config import Config
    from rebuno_cli.render import logs, output

    wanted = Config(
        db,
        host=host,
        port=port,
        bearer_token=bearer_token,
        open_to_all=True,
        permissive=True,
        layers=tuple(layer or ()),
        webhooks=tuple(allow_webhook or ()),
        manifest=config,
        settings=Settings(max_attempts=max_attempts),
        grace=2.0,
    )

    def started(url: str) -> None:
        where = "forgotten at the end" if db == ":memory:" else f"kept in {logs.without_password(db)}"
        output.write_text(f"rebuno dev at {url}, {where}; Ctrl-C ends it")
        if host not in ("127.0.0.1", "localhost", "::1"):
            logging.getLogger("rebuno").warning("anyone who reaches %s may do everything", url)

    logging.getLogger("rebuno.server.decisions").setLevel(logging.DEBUG)
    return options.serve(wanted, started, logs.Shown(), logging.INFO)
