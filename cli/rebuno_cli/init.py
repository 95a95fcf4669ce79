"""`rebuno init`: a small example that works, with its test."""

from typing import Final

import click

from rebuno_cli import options, starting

_POLICY: Final = ("desk.rbp", "desk.policytest.yaml")
# Of each kind the files, and the commands that try them.
_KINDS: Final = {
    "agent": (
        (*_POLICY, "desk.py", "test_desk.py"),
        ("rebuno policy test desk.rbp", "python desk.py", "python -m pytest test_desk.py"),
    ),
    "policy": (_POLICY, ("rebuno policy test desk.rbp", "rebuno policy explain desk.rbp --target refund --args '{}'")),
    "server": (
        (*_POLICY, "desk.py", "served_desk.py", "desk.yaml", "test_desk.py"),
        (
            "REBUNO_AGENT_SECRET=a-secret-of-your-own rebuno dev --config desk.yaml",
            "REBUNO_AGENT_SECRET=a-secret-of-your-own REBUNO_URL=http://127.0.0.1:8080 python served_desk.py",
            'rebuno exec create desk \'{"order": "A17"}\' --url http://127.0.0.1:8080',
        ),
    ),
    "hook": ((), ("rebuno policy test coding.rbp", "rebuno hook install claude-code --policy coding.rbp")),
}


@click.command("init")
@click.argument("kind", type=click.Choice(list(_KINDS)), default="agent", help="What to begin with; else an agent.")
@click.option("--into", default=".", show_default=True, metavar="DIR", help="The folder that is written to.")
@options.as_json
def init(kind: str, into: str, as_json: bool) -> None:
    """Write a small working example and its test into this folder: an agent, a policy, a served agent, or the policy of
    a coding agent for its hook.

    Nothing that is there already is written over.
    """
    from rebuno import packaged
    from rebuno_cli.render.show import show

    names, next = _KINDS[kind]
    root = packaged.policies() if kind == "hook" else packaged.examples()
    files = starting.bundle(root / "coding.rbp", root) if kind == "hook" else {name: root / name for name in names}
    written = starting.write(files, into)
    steps = next if into == "." else (f"cd {into}", *next)
    show(as_json, lambda: starting.data(written, steps), lambda: starting.told(written, steps))
