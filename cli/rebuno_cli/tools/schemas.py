"""`rebuno tools schemas`: the schemas of a module's tools."""

import click

from rebuno_cli import loading


@click.command("schemas")
@click.argument("module", metavar="MODULE", help="The module that has the tools, looked for in this folder too.")
def schemas(module: str) -> None:
    """Write the schemas of the `@rebuno.tool`s of a module, which `policy check` reads.

    The module is imported, so its top level runs.
    """
    from rebuno.errors import ValidationError
    from rebuno.sdk.tool import registered_schemas
    from rebuno_cli.render import output

    loading.load(module, module)
    found = registered_schemas()
    if not found:
        raise ValidationError(f"the module `{module}` registers no tool; write `@rebuno.tool` above a function")
    output.write_json({"tools": found})
