"""A contract for import-linter: others import a sub-package, never the modules behind its face."""

from __future__ import annotations

from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output


class FaceContract(Contract):
    """Keeps importers outside a package from reaching behind its ``__init__``.

    Configuration options:
        faces: Packages whose ``__init__`` re-exports everything that others may use.
    """

    type_name = "face"

    faces = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Find imports of inner modules from outside."""
        del verbose
        broken = [
            (importer, module, face)
            for face in map(str, self.faces)  # type: ignore[call-overload]  # a list at run time
            for module in sorted(graph.find_descendants(face))
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if importer != face and not importer.startswith(f"{face}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print every import that reaches behind a face."""
        broken: list[Any] = check.metadata["broken"]
        for importer, module, face in broken:
            output.print_error(f"{importer} imports {module}: import {face} instead")
