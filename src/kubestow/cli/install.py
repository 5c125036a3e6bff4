"""``kubestow install``: the objects that run kubestow in a cluster, printed or applied."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from kubestow.cli import outputs, serving
from kubestow.live import api, manifests
from kubestow.live.api import ApiError
from kubestow.live.manifests import InstallationValues
from kubestow.model import decoding, errors
from kubestow.sources.manifests import read_documents

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)


@app.command()
def install(
    render: Annotated[
        bool, typer.Option("--render", help="Print the objects as YAML, and change nothing.")
    ] = False,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What to choose otherwise (YAML).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Let the API server check, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    kubeconfig: serving.KubeconfigOption = None,
    context: serving.ContextOption = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Install the webhook, the metrics API and a second scheduler.

    Everything is applied server-side, so that running it again brings a cluster up to date. The
    store's address has to be in a Secret (kubestow-store, key url) before.

    Example:
      kubestow install --render > kubestow.yaml
      kubestow install --values values.yaml --dry-run
      kubestow install --yes
    """
    found = manifests.render_installation(_values(values))
    if render:
        if output is outputs.Output.JSON:
            outputs.print_json(found)
        else:
            sys.stdout.write(yaml.dump_all(found, Dumper=_Plain, sort_keys=False))
        return 0
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise errors.InputError("install", "nobody can be asked here; expected --yes")
        if not typer.confirm(f"apply {len(found)} objects?", err=True):
            return 1
    try:
        rows = asyncio.run(_apply((kubeconfig, context), found, dry_run=dry_run))
    except ApiError as err:
        raise errors.InputError("install", str(err)) from err
    if output is outputs.Output.JSON:
        outputs.print_json(rows)
    else:
        for row in rows:
            outputs.console().print(f"{row['object']}: {row['result']}", markup=False)
    return 1 if any(row["failed"] for row in rows) else 0


class _Plain(yaml.SafeDumper):
    """Writes equal parts out in full: people read this, and other tools take it apart."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - given by its base
        """Tell that nothing is worth a reference."""
        return True


def _values(path: Path | None) -> InstallationValues:
    if path is None:
        return InstallationValues()
    found = read_documents(str(path))
    if len(found) != 1:
        raise errors.InputError(str(path), f"{len(found)} documents: expected one")
    return decoding.read_structure(
        InstallationValues, decoding.Field(found[0].value, found[0].place)
    )


async def _apply(
    cluster: tuple[str | None, str | None], found: list[dict[str, Any]], *, dry_run: bool
) -> list[dict[str, Any]]:
    """Apply objects one after the other; an error does not stop the others."""
    rows = []
    async with await api.connect(*cluster) as client:
        for document in found:
            name = f"{document['kind']}/{document['metadata']['name']}"
            try:
                await client.apply(manifests.path_of(document), document, dry_run=dry_run)
                rows.append({"object": name, "result": "applied", "failed": False})
            except ApiError as err:
                rows.append({"object": name, "result": str(err), "failed": True})
    return rows
