"""`rebuno exec erase`: destroys the data keys of executions."""

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options


@click.command("erase")
@click.argument("ref", metavar="[ID]", required=False, default="", help="The execution's id, or your own.")
@click.option("--on-behalf-of", "person", default="", metavar="NAME", help="All executions on behalf of this person.")
@click.option("--cancel", "end", is_flag=True, help="Cancel first what has not ended.")
@options.db
@options.url
@options.as_json
def erase(ref: str, person: str, end: bool, db: str | None, url: str | None, as_json: bool) -> int:
    """Erase what encrypted executions hold: their data keys are destroyed, and nobody can read it any more.

    Events, verdicts and hashes stay, and `exec verify` still holds. Copies of the store, exports and archived logs of a
    database keep what they have. Exit code 1 where something could not be erased because it is not encrypted.
    """
    from rebuno_cli.render import erased
    from rebuno_cli.render.show import show

    if bool(ref) == bool(person):
        raise ValidationError("name one execution, or a person with `--on-behalf-of`")
    done = connection.work(db, url, lambda backend: backend.erase(ref, person=person, end=end))
    show(as_json, lambda: done.model_dump(mode="json"), lambda: erased.lines(done))
    return 1 if done.not_sealed else 0
