"""The `rebuno` command: the tree of its commands, and the one place where an error becomes an exit code."""

import gc
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from rebuno.errors import RebunoError
from rebuno_cli import failures, version
from rebuno_cli.agents import add
from rebuno_cli.agents import get as agent_get
from rebuno_cli.agents import ls as agent_ls
from rebuno_cli.agents import rm as agent_rm
from rebuno_cli.approvals import answer
from rebuno_cli.approvals import get as approval_get
from rebuno_cli.approvals import ls as approval_ls
from rebuno_cli.executions import cancel, create, events, export, fork, replay, sweep, trace, verify, watch
from rebuno_cli.executions import get as exec_get
from rebuno_cli.executions import import_ as exec_import
from rebuno_cli.executions import ls as exec_ls
from rebuno_cli.keys import ls as key_ls
from rebuno_cli.keys import make
from rebuno_cli.keys import rm as key_rm
from rebuno_cli.policy import ast, check, convert, diff, explain, fmt, inline
from rebuno_cli.policy import set as policy_set
from rebuno_cli.policy import test as policy_test
from rebuno_cli.serve import dev, server

_HELP: Final = "A kernel between an AI agent and its effects: policy first, a durable journal second."


def _group(help: str) -> typer.Typer:
    # Plain help: it is read in pipes and on narrow terminals too, and starts faster.
    return typer.Typer(
        help=help, no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )


app = _group(_HELP)
policy = _group("Check, test and explain policy bundles.")
exec_ = _group("Look at executions, end them, and begin them anew.")
agent = _group("Say who runs executions, and where.")
key = _group("Make and revoke the keys of the HTTP interface.")
approval = _group("Look at the questions that agents have asked, and answer them.")

policy.command("check")(check.check)
policy.command("test")(policy_test.run)
policy.command("diff")(diff.diff)
policy.command("explain")(explain.explain)
policy.command("fmt")(fmt.fmt)
policy.command("ast")(ast.ast)
policy.command("convert")(convert.convert)
policy.command("inline")(inline.inline)
policy.command("set")(policy_set.put)
exec_.command("create")(create.create)
exec_.command("ls")(exec_ls.ls)
exec_.command("get")(exec_get.get)
exec_.command("watch")(watch.watch)
exec_.command("events")(events.events)
exec_.command("trace")(trace.trace)
exec_.command("verify")(verify.verify)
exec_.command("export")(export.export)
exec_.command("import")(exec_import.take_in)
exec_.command("replay")(replay.replay)
exec_.command("cancel")(cancel.cancel)
exec_.command("fork")(fork.fork)
exec_.command("retry")(fork.retry)
exec_.command("sweep")(sweep.sweep)
approval.command("ls")(approval_ls.ls)
approval.command("get")(approval_get.get)
approval.command("grant")(answer.grant)
approval.command("deny")(answer.deny)
agent.command("ls")(agent_ls.ls)
agent.command("get")(agent_get.get)
agent.command("add")(add.add)
agent.command("rm")(agent_rm.rm)
key.command("create")(make.create)
key.command("ls")(key_ls.ls)
key.command("rotate")(make.rotate)
key.command("rm")(key_rm.rm)
app.add_typer(policy, name="policy")
app.add_typer(exec_, name="exec")
app.add_typer(approval, name="approval")
app.add_typer(agent, name="agent")
app.add_typer(key, name="key")
app.command("dev")(dev.dev)
app.command("server")(server.server)
app.command("version")(version.version)


@app.callback(help=_HELP)
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=version.eager, is_eager=True)
    ] = False,
) -> None:
    del show_version


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: this process's) and returns its exit code."""
    _open_streams()
    if argv is None:
        # The process lives for a second: looking for garbage in a grammar's tables would be a tenth of it.
        gc.set_threshold(200_000)
    args = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in args
    try:
        code = app(args, prog_name="rebuno", standalone_mode=False)
    except typer.TyperException as error:
        return _usage(error, as_json)
    except failures.ReaderGoneError:
        return _reader_gone()
    except (RebunoError, OSError) as error:
        return failures.report(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return failures.INTERRUPTED
    return code if isinstance(code, int) else failures.YES


def _open_streams() -> None:
    # A process that is started with a closed standard stream has None in its place, and the next file that it opens,
    # a store perhaps, would take the stream's number.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _usage(error: Any, as_json: bool) -> int:
    # Typed loosely: Typer's public base class declares none of what its usage errors share.
    if as_json:
        return failures.say("usage", error.format_message(), as_json=True)
    error.show()
    return failures.USAGE


def _reader_gone() -> int:
    # What is still in the buffer would fail again when the interpreter closes the stream.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return failures.READER_GONE


if __name__ == "__main__":
    sys.exit(main())
