"""`rebuno server`: a replica of a kernel that a team shares."""

import click

from rebuno_cli.options import Number
from rebuno_cli.serve import options


@click.command("server")
@options.db("")
@options.bearer_token
@options.host
@options.port
@options.layers
@options.shadows
@options.manifest
@click.option("--permissive", is_flag=True, help="Allow agents without a bundle what the layers allow.")
@options.webhooks
@options.max_attempts
@options.unreachable_for
@click.option(
    "--deliveries",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="So many webhooks are on their way at once.",
)
@click.option(
    "--retention", default="", metavar="DURATION", help="How long ended executions are kept: 30d, 24h; or ever."
)
@click.option(
    "--grace",
    type=Number(min=0),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="How long requests may take at a shutdown.",
)
@click.option(
    "--max-values",
    type=click.IntRange(min=100),
    default=100_000,
    show_default=True,
    metavar="N",
    help="So many values a body may hold.",
)
@click.option(
    "--max-digits",
    type=click.IntRange(min=20),
    default=4_300,
    show_default=True,
    metavar="N",
    help="So many digits a number in a body may have.",
)
@click.option("--otel", is_flag=True, help="Send each request as a span; OTEL_EXPORTER_OTLP_ENDPOINT says where to.")
@click.option(
    "--log-level",
    default="info",
    show_default=True,
    metavar="LEVEL",
    help="`debug` names every decision; or info, warning, error.",
)
def server(
    db: str,
    bearer_token: str,
    host: str,
    port: int,
    layer: tuple[str, ...],
    shadow: tuple[str, ...],
    config: str,
    permissive: bool,
    allow_webhook: tuple[str, ...],
    max_attempts: int,
    unreachable_for: str,
    deliveries: int,
    retention: str,
    grace: float,
    max_values: int,
    max_digits: int,
    otel: bool,
    log_level: str,
) -> int:
    """Serve a kernel on a store that replicas share. A store and a bearer token are required; give the token by
    REBUNO_BEARER_TOKEN, since others can see a command line. The log is JSON, one object a line, on standard error.
    """
    from rebuno.kernel import Settings
    from rebuno.model.bounds import Bounds
    from rebuno.server.config import Config
    from rebuno_cli.render import logs, output

    wanted = Config(
        db,
        host=host,
        port=port,
        bearer_token=bearer_token,
        permissive=permissive,
        layers=layer,
        shadows=shadow,
        webhooks=allow_webhook,
        manifest=config,
        settings=Settings(
            max_attempts=max_attempts,
            unreachable_for=options.seconds("--unreachable-for", unreachable_for),
            deliveries=deliveries,
            retention=options.seconds("--retention", retention) if retention else None,
        ),
        bounds=Bounds(digits=max_digits, values=max_values),
        grace=grace,
        traced=otel,
    )
    return options.serve(
        wanted,
        lambda url: output.write_text(f"rebuno server at {url}"),
        logs.JsonLines(),
        options.level_of(log_level),
    )
