"""`rebuno server`: a replica of a kernel that a team shares."""

from typing import Annotated

import typer

from rebuno_cli.serve import options


def server(
    db: options.Db = "",
    bearer_token: options.Token = "",
    host: options.Host = "127.0.0.1",
    port: options.Port = 8080,
    layer: options.Layers = None,
    config: options.Manifest = "",
    permissive: Annotated[
        bool, typer.Option("--permissive", help="Allow agents without a bundle what the layers allow.")
    ] = False,
    allow_webhook: options.Webhooks = None,
    max_attempts: options.Attempts = 5,
    deliveries: Annotated[
        int, typer.Option("--deliveries", metavar="N", min=1, help="So many webhooks are on their way at once.")
    ] = 32,
    retention: Annotated[
        str,
        typer.Option("--retention", metavar="DURATION", help="How long ended executions are kept: 30d, 24h; or ever."),
    ] = "",
    grace: Annotated[
        float, typer.Option("--grace", metavar="SECONDS", min=0, help="How long requests may take at a shutdown.")
    ] = 20.0,
    max_values: Annotated[
        int, typer.Option("--max-values", metavar="N", min=100, help="So many values a body may hold.")
    ] = 100_000,
    max_digits: Annotated[
        int, typer.Option("--max-digits", metavar="N", min=20, help="So many digits a number in a body may have.")
    ] = 4_300,
    otel: Annotated[
        bool, typer.Option("--otel", help="Send each request as a span; OTEL_EXPORTER_OTLP_ENDPOINT says where to.")
    ] = False,
    log_level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help="`debug` names every decision; or info, warning, error.")
    ] = "info",
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
        layers=tuple(layer or ()),
        webhooks=tuple(allow_webhook or ()),
        manifest=config,
        settings=Settings(max_attempts=max_attempts, deliveries=deliveries, retention=_seconds(retention)),
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


def _seconds(duration: str) -> float | None:
    from rebuno.errors import ValidationError
    from rebuno.policy.syntax import literals

    if not duration:
        return None
    try:
        return float(literals.duration(duration))
    except literals.LiteralError as error:
        raise ValidationError(f"`--retention`: {error.message}; {error.help}") from None
