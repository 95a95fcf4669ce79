"""`rebuno server`: a replica of a kernel that a team shares."""

import click

from rebuno_cli.serve import options


@click.command("server")
@options.db("")
@options.bearer_token
@options.host
@options.port
@options.layers
@options.shadows
@options.manifest
@options.notify
@options.public_url
@click.option("--permissive", is_flag=True, help="Allow agents without a bundle what the layers allow.")
@options.webhooks
@options.max_attempts
@options.unreachable_for
@options.lease
@options.default_deadline
@options.approval_timeout
@options.deliveries
@options.connections
@options.cleanup_interval
@options.retention
@options.grace
@options.max_values
@options.max_digits
@options.max_keys
@options.console_hosts
@options.console_https
@options.console_proxies
@options.console_header
@options.console_scopes
@options.encrypt
@options.key_ring
@options.key_command
@click.option(
    "--otel",
    is_flag=True,
    help="Send requests, executions and steps as spans; OTEL_EXPORTER_OTLP_ENDPOINT says where to.",
)
@options.log_format
@options.log_level
def server(
    db: str,
    bearer_token: str,
    host: str,
    port: int,
    layer: tuple[str, ...],
    shadow: tuple[str, ...],
    config: str,
    notify: str,
    public_url: str,
    permissive: bool,
    allow_webhook: tuple[str, ...],
    max_attempts: int,
    unreachable_for: str,
    lease: float,
    default_deadline: str,
    approval_timeout: str,
    deliveries: int,
    connections: int,
    cleanup_interval: str,
    retention: str,
    grace: float,
    max_values: int,
    max_digits: int,
    max_keys: int,
    console_host: tuple[str, ...],
    console_https: bool,
    console_proxy: tuple[str, ...],
    console_header: str,
    console_scope: tuple[str, ...],
    encrypt: bool,
    key_ring: str,
    key_command: str,
    otel: bool,
    log_format: str,
    log_level: str,
) -> int:
    """Serve a kernel on a store that replicas share. A store and a bearer token are required; give the token by
    REBUNO_BEARER_TOKEN, since others can see a command line. People find its console at /console.
    The log goes to standard error, as JSON or as text.
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
        notify=notify,
        public_url=public_url,
        connections=connections,
        settings=Settings(
            max_attempts=max_attempts,
            unreachable_for=options.seconds("--unreachable-for", unreachable_for),
            deliveries=deliveries,
            lease=lease,
            deadline=options.seconds_or_none("--default-deadline", default_deadline),
            approvals=options.seconds_or_none("--approval-timeout", approval_timeout),
            sweep=options.seconds("--cleanup-interval", cleanup_interval),
            retention=options.seconds_or_none("--retention", retention),
            max_keys=max_keys,
        ),
        bounds=Bounds(digits=max_digits, values=max_values),
        grace=grace,
        traced=otel,
        encrypt=encrypt,
        key_ring=key_ring,
        key_command=key_command,
    )
    return options.serve(
        wanted,
        lambda url: output.write_text(f"rebuno server at {url}"),
        logs.Shown() if log_format == "text" else logs.JsonLines(),
        options.level_of(log_level),
        {
            "hosts": console_host,
            "secure": console_https,
            "proxies": console_proxy,
            "header": console_header,
            "scopes": console_scope,
        },
    )
