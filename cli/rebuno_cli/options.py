"""Options that several commands take."""

from typing import Annotated, TypeAlias

import typer

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Db: TypeAlias = Annotated[
    str | None,
    typer.Option("--db", metavar="PATH", help="The store's file, or its URL; else REBUNO_DB_URL."),
]
Url: TypeAlias = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A server, in the place of a store; else REBUNO_URL."),
]
Agent: TypeAlias = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
Layers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--layer", metavar="FILE", help="A bundle that stands before every other one; may be given again."),
]
Ref: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="ID", help="The execution's id, at least 4 characters of its beginning, or your own id."),
]
Key: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The key's id, or at least 4 characters of its beginning.")
]
