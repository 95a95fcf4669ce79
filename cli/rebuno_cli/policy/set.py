"""`rebuno policy set`: sets the bundle of a served agent."""

from typing import Annotated

import typer

from rebuno_cli import connection, options


def put(
    agent: options.Agent,
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="The bundle, with all that it uses.")],
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Put a bundle in force for an agent, with the files that it uses as one text.

    Exit code 2 where it has errors; the old one stays then.
    """
    from rebuno.policy.inline import inline
    from rebuno_cli.render import output
    from rebuno_cli.render.escape import escape

    text = inline(bundle)
    connection.work(db, url, lambda desk: desk.set_policy(agent, text))
    if as_json:
        output.write_json({"agent_id": agent, "text": text})
    else:
        output.write_text(f"the bundle `{escape(bundle, None)}` is in force for agent {escape(agent)}")
    return 0
