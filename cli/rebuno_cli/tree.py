"""The tree of commands. A command's module is imported when the command runs, or when its help is asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

import rebuno
from rebuno_cli import completing

_HELP: Final = "A kernel between an AI agent and its effects: policy first, a durable journal second."
# Of each noun its help, the folder of its modules, and of each of its commands `module:function`.
_NOUNS: Final = {
    "policy": (
        "Check, test and explain policy bundles.",
        "policy",
        {
            "check": "check:check",
            "test": "test:run",
            "prove": "prove:prove",
            "diff": "diff:diff",
            "shadow": "shadow:shadow",
            "stats": "stats:stats",
            "suggest": "suggest:suggest",
            "explain": "explain:explain",
            "fmt": "fmt:fmt",
            "ast": "ast:ast",
            "convert": "convert:convert",
            "inline": "inline:inline",
            "set": "set:put",
            "new": "new:new",
        },
    ),
    "exec": (
        "Look at executions, end them, and begin them anew.",
        "executions",
        {
            "create": "create:create",
            "ls": "ls:ls",
            "get": "get:get",
            "watch": "watch:watch",
            "events": "events:events",
            "trace": "trace:trace",
            "explain": "explain:explain",
            "verify": "verify:verify",
            "export": "export:export",
            "import": "import_:take_in",
            "replay": "replay:replay",
            "say": "say:say",
            "cancel": "cancel:cancel",
            "fork": "fork:fork",
            "fork-points": "fork_points:fork_points",
            "retry": "fork:retry",
            "sweep": "sweep:sweep",
            "erase": "erase:erase",
        },
    ),
    "approval": (
        "Look at the questions that agents have asked, and answer them.",
        "approvals",
        {"ls": "ls:ls", "get": "get:get", "grant": "answer:grant", "deny": "answer:deny"},
    ),
    "agent": (
        "Say who runs executions, and where.",
        "agents",
        {"ls": "ls:ls", "get": "get:get", "add": "add:add", "rm": "rm:rm"},
    ),
    "grant": (
        "See the grants that outlive a run, and take them back.",
        "grants",
        {"ls": "ls:ls", "rm": "rm:rm"},
    ),
    "tools": (
        "See what servers say of their tools, and pin what was reviewed.",
        "tools",
        {"ls": "ls:ls", "pin": "pin:pin", "schemas": "schemas:schemas"},
    ),
    "store": (
        "Copy a store, put a copy back, and see what is known of it as a whole.",
        "stores",
        {
            "backup": "backup:backup",
            "restore": "backup:restore",
            "info": "restored:info",
            "mark-restored": "restored:mark",
            "accept-restore": "restored:accept",
            "finish-upgrade": "upgrade:finish",
        },
    ),
    "hook": (
        "Put the policy in front of a coding agent: Claude Code, Codex, Gemini CLI, OpenCode.",
        "hooks",
        {"install": "install:install", "uninstall": "install:uninstall", "doctor": "doctor:doctor", "run": "run:run"},
    ),
    "audit": (
        "Write what logs hold for a system that keeps it elsewhere, and check that.",
        "audits",
        {"tail": "tail:tail", "verify": "verify:verify", "keygen": "verify:keygen"},
    ),
    "mcp": (
        "Put the policy between an MCP client and its servers.",
        "mcp",
        {"proxy": "proxy:proxy", "pin": "pin:pin", "tools": "tools:tools"},
    ),
    "keyring": (
        "Make the keys that encrypt a store, which lie outside it.",
        "keyring",
        {"create": "make:create", "rotate": "make:rotate", "ls": "make:ls"},
    ),
    "key": (
        "Make and revoke the keys of the HTTP interface.",
        "keys",
        {"create": "make:create", "ls": "ls:ls", "rotate": "make:rotate", "rm": "rm:rm"},
    ),
}
_OTHERS: Final = {
    "init": "init:init",
    "rule": "rule:rule",
    "top": "top:top",
    "effects": "effects:effects",
    "verify": "verify:verify",
    "limits": "limits:limits",
    "stop": "stops:stop",
    "dev": "serve.dev:dev",
    "server": "serve.server:server",
    "console": "serve.console:console",
    "version": "version:version",
}
# Of a command that is a noun too, its own commands.
_INNER: Final = {"stop": ("ls", "lift")}


class _Group(click.Group):
    """Commands that are found by where they are: `module:function` below this package."""

    def __init__(self, help: str, places: Mapping[str, str], name: str | None = None) -> None:
        super().__init__(name, help=help, no_args_is_help=True)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return [*self.commands, *self.places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, its module imported now."""
        if (place := self.places.get(cmd_name)) is None:
            return super().get_command(ctx, cmd_name)
        module, _, function = place.partition(":")
        command: click.Command = getattr(import_module(f"rebuno_cli.{module}"), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first of `args` names; an error says what may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None


_version: Final = click.version_option(
    rebuno.__version__, message="rebuno-kernel %(version)s", help="Print the version and leave."
)
app: Final = _version(_Group(_HELP, _OTHERS))
for _option, _does, _about in (
    ("--install-completion", completing.install, "Complete commands in this shell, or in the one named, from now on."),
    ("--show-completion", completing.show, "Print the script that does it."),
):
    app.params.append(
        click.Option(
            [_option],
            is_flag=False,
            flag_value="auto",
            expose_value=False,
            is_eager=True,
            metavar="[SHELL]",
            callback=_does,
            help=_about,
        )
    )
for _name, (_help, _folder, _commands) in _NOUNS.items():
    app.add_command(_Group(_help, {name: f"{_folder}.{place}" for name, place in _commands.items()}, _name))


def names() -> list[str]:
    """Every command as it is written after `rebuno`."""
    inner = (f"{noun} {name}" for noun, names in _INNER.items() for name in names)
    return [*(f"{noun} {name}" for noun, (_, _, commands) in _NOUNS.items() for name in commands), *_OTHERS, *inner]
