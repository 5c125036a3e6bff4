"""Kubeconfig files: which ones are read, how they are merged, and which context is chosen.

As in client-go's ``tools/clientcmd``: one file if it is given, otherwise those of ``$KUBECONFIG``,
otherwise ``~/.kube/config``. The first file with an entry of a name wins, and so does the first
with a current context; entries themselves are not merged. Without a context, the service account
of the pod is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kubestow.live.api import entries, service_accounts
from kubestow.live.api.accesses import DEFAULT_NAMESPACE, Access, UserAccess
from kubestow.live.api.entries import Entry
from kubestow.model import errors
from kubestow.sources import manifests

VARIABLE: Final = "KUBECONFIG"
_HOME_FILE: Final = (".kube", "config")
_EXPECTED: Final = "expected a kubeconfig of a cluster"
_CLUSTERS, _USERS, _CONTEXTS = "clusters", "users", "contexts"


@dataclass(frozen=True, slots=True)
class Named:
    """An entry and the folder of its file, where its relative paths start."""

    entry: Entry
    folder: Path


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The merged content of one or several files.

    Attributes:
        place: The files, for errors.
        current_context: Name of the default context.
        named: Entries by list (``clusters``, ``users``, ``contexts``) and name.
    """

    place: str
    current_context: str = ""
    named: Mapping[str, Mapping[str, Named]] = field(default_factory=dict)

    def choose(self, context: str) -> Access:
        """Return the access of a context.

        Raises:
            InputError: If there is no such context, cluster or user, or if one is malformed.
        """
        chosen = self._find(_CONTEXTS, context, self.place).entry["context"]
        cluster = self._find(_CLUSTERS, chosen["cluster"].text(), chosen["cluster"].where)
        user, name = UserAccess(chosen.where), chosen["user"].text("")
        if name:
            entry = self._find(_USERS, name, chosen["user"].where)
            user = entries.read_user(entry.entry["user"], entry.folder)
        return Access(
            cluster=entries.read_cluster(cluster.entry["cluster"], cluster.folder),
            user=user,
            namespace=chosen["namespace"].text("") or DEFAULT_NAMESPACE,
            context=context,
        )

    def _find(self, kind: str, name: str, where: str) -> Named:
        known = self.named.get(kind, {})
        if name not in known:
            names = ", ".join(sorted(known)) or "none is defined"
            raise errors.InputError(where, f"{name!r}: expected one of the {kind} ({names})")
        return known[name]


def find(path: str | None = None, context: str | None = None) -> Access:
    """Return the access to the selected cluster.

    Args:
        path: The kubeconfig; default: the usual ones.
        context: Name of the context; default: the current one.

    Raises:
        InputError: If there is neither a kubeconfig nor a service account, or one is malformed.
    """
    config = read([Path(path)]) if path else read(_usual_files(os.environ), optional=True)
    chosen = context or config.current_context
    if chosen:
        return config.choose(chosen)
    in_cluster = None if path else service_accounts.find(os.environ)
    if in_cluster is None:
        problem = "no current-context" if path else "no current-context and no service account"
        raise errors.InputError(config.place, f"{problem}: {_EXPECTED}")
    return in_cluster


def read(paths: Iterable[Path], *, optional: bool = False) -> Kubeconfig:
    """Read and merge files; earlier files take precedence.

    Args:
        paths: The files.
        optional: Skip files that do not exist.

    Raises:
        InputError: If a file cannot be read or is malformed.
    """
    distinct = list(dict.fromkeys(paths))
    files = [(path, root) for path in distinct if (root := _read_file(path, optional)) is not None]
    currents = [root["current-context"].text("") for _, root in files]
    return Kubeconfig(
        place=", ".join(map(str, distinct)) or "kubeconfig",
        current_context=next(filter(None, currents), ""),
        named={kind: _merge(files, kind) for kind in (_CLUSTERS, _USERS, _CONTEXTS)},
    )


def _usual_files(environment: Mapping[str, str]) -> list[Path]:
    listed = environment.get(VARIABLE, "")
    if listed:
        return [Path(name) for name in listed.split(os.pathsep) if name]
    home = environment.get("HOME")
    return [Path(home, *_HOME_FILE)] if home else []


def _read_file(path: Path, optional: bool) -> Entry | None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as err:
        if optional:
            return None
        raise errors.InputError(str(path), f"no such file: {_EXPECTED}") from err
    except OSError as err:
        raise errors.InputError(str(path), f"{err.strerror or err}: {_EXPECTED}") from err
    except UnicodeDecodeError:
        raise errors.InputError(str(path), f"not UTF-8: {_EXPECTED}") from None
    return _parse(text, str(path))


def _parse(text: str, place: str) -> Entry:
    try:
        documents = manifests.parse_documents(text, place)
    except errors.InputError as err:
        # The parser's message may quote a secret, e.g. a password that begins like a tag.
        raise errors.InputError(err.place, f"not valid YAML: {_EXPECTED}") from None
    if len(documents) > 1:
        raise errors.InputError(place, f"{len(documents)} documents: expected one kubeconfig")
    root = Entry(documents[0].value if documents else None, place)
    root["kind"].choice(("Config",), "Config")
    root["apiVersion"].choice(("v1",), "v1")
    return root


def _merge(files: Iterable[tuple[Path, Entry]], kind: str) -> dict[str, Named]:
    merged: dict[str, Named] = {}
    for path, root in files:
        folder = path.absolute().parent
        own: dict[str, Named] = {}
        for entry in root[kind].items():
            name = entry["name"].text()
            if name in own:
                raise entry["name"].refuse(f"expected a name that occurs once in {kind}")
            own[name] = Named(entry, folder)
        merged = own | merged
    return merged
