"""The `rebuno` command, and the one place where an error becomes an exit code."""

import gc
import os
import sys

TYPE_CHECKING = False  # see render.output
if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

# Scripts ask for the version often: it is answered before the tree of commands is imported.
_VERSION = (["version"], ["--version"], ["version", "--json"])


def main(argv: "Sequence[str] | None" = None) -> int:
    """Runs the command line `argv` (default: this process's) and returns its exit code."""
    _open_streams()
    if argv is not None:
        return _main(list(argv))
    # The process lives for a second: looking for garbage in trees that stay would be a quarter of it, while they grow
    # and once more at the end, where the interpreter looks at all that is not frozen.
    gc.set_threshold(200_000)
    try:
        return _main(sys.argv[1:])
    finally:
        gc.freeze()


def _main(args: list[str]) -> int:
    from rebuno_cli.render.output import ReaderGoneError

    try:
        if args in _VERSION:
            from rebuno_cli.render.version import version

            version(as_json="--json" in args)
            return 0
        return _run(args)
    except ReaderGoneError:
        return _reader_gone()


def _run(args: list[str]) -> int:
    import click

    from rebuno.errors import RebunoError
    from rebuno_cli import failures, tree

    as_json = "--json" in args
    if instruction := os.environ.get("_REBUNO_COMPLETE"):
        from rebuno_cli import completing

        return completing.answer(tree.app, instruction)
    try:
        # Not `app.main`: it writes an empty line where it is interrupted, and ends with 1 where a reader is gone.
        with tree.app.make_context("rebuno", args) as context:
            code = tree.app.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        return _reader_gone()
    except click.ClickException as error:
        return _usage(error, as_json)
    except (RebunoError, OSError) as error:
        return failures.report(error, as_json=as_json)
    except KeyboardInterrupt:
        return failures.INTERRUPTED
    return code if isinstance(code, int) else failures.YES


def _open_streams() -> None:
    # A process that is started with a closed standard stream has None in its place, and the next file that it opens,
    # a store perhaps, would take the stream's number.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _usage(error: "click.ClickException", as_json: bool) -> int:
    from rebuno_cli import failures

    if as_json:
        return failures.say("usage", error.format_message(), as_json=True)
    error.show()
    return failures.USAGE


def _reader_gone() -> int:
    from rebuno_cli import failures

    # What is still in the buffer would fail again when the interpreter closes the stream.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return failures.READER_GONE


if __name__ == "__main__":
    sys.exit(main())
