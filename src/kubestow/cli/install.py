"""``kubestow install``: the objects that run kubestow in a cluster, printed or applied."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubestow.cli import outputs, serving
from kubestow.model import errors

if TYPE_CHECKING:
    from kubestow.live.manifests import InstallationValues

app = outputs.make_app()


@app.command()
def install(
    render: Annotated[
        bool, typer.Option("--render", help="Print the objects as YAML; do not apply them.")
    ] = False,
    values: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Override defaults with the values in this file (YAML)."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Have the API server validate the objects; change nothing."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Apply without asking for confirmation.")
    ] = False,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Install the admission webhook, the metrics API and a second scheduler.

    Objects are applied server-side; run the command again to update a cluster. The Secret
    kubestow-store must hold the store's URL under the key 'url' before you install.

    Example:
      kubestow install --render > kubestow.yaml
      kubestow install --values values.yaml --dry-run
      kubestow install --yes
    """
    import asyncio

    from kubestow.live import manifests
    from kubestow.live.api import ApiError

    objects = manifests.render_installation(_values(values))
    if render:
        if output is outputs.Output.JSON:
            outputs.print_json(objects)
        else:
            sys.stdout.write(_as_yaml(objects))
        return 0
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise errors.InputError(
                "install", "cannot ask for confirmation without a terminal; expected --yes"
            )
        if not typer.confirm(f"apply {len(objects)} objects?", err=True):
            return 1
    try:
        rows = asyncio.run(_apply((kubeconfig, context), objects, dry_run=dry_run))
    except ApiError as err:
        raise errors.InputError("install", str(err)) from err
    if output is outputs.Output.JSON:
        outputs.print_json(rows)
    else:
        for row in rows:
            outputs.console().print(f"{row['object']}: {row['result']}", markup=False)
    return 1 if any(row["failed"] for row in rows) else 0


def _as_yaml(objects: list[dict[str, Any]]) -> str:
    """Return objects as YAML with equal parts written out: other tools process this."""
    import yaml

    class Plain(yaml.SafeDumper):
        """Writes no anchors and no aliases."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - given by its base
            """Return that nothing becomes an alias."""
            return True

    return str(yaml.dump_all(objects, Dumper=Plain, sort_keys=False))


def _values(path: Path | None) -> InstallationValues:
    from kubestow.live.manifests import InstallationValues
    from kubestow.model import decoding
    from kubestow.sources.manifests import read_documents

    if path is None:
        return InstallationValues()
    documents = read_documents(str(path))
    if len(documents) != 1:
        raise errors.InputError(str(path), f"{len(documents)} documents: expected one")
    return decoding.read_structure(
        InstallationValues, decoding.Field(documents[0].value, documents[0].place)
    )


async def _apply(
    cluster: tuple[str | None, str | None], objects: list[dict[str, Any]], *, dry_run: bool
) -> list[dict[str, Any]]:
    """Apply objects one by one; an error does not stop the others."""
    from kubestow.live import api, manifests
    from kubestow.live.api import ApiError

    rows = []
    async with await api.connect(*cluster) as client:
        for document in objects:
            name = f"{document['kind']}/{document['metadata']['name']}"
            try:
                await client.apply(manifests.path_of(document), document, dry_run=dry_run)
                rows.append({"object": name, "result": "applied", "failed": False})
            except ApiError as err:
                rows.append({"object": name, "result": str(err), "failed": True})
    return rows
