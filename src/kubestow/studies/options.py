"""Options of a study."""

import dataclasses
import pathlib

from kubestow.model import errors


@dataclasses.dataclass(frozen=True, slots=True)
class StudyOptions:
    """Options of one run of a study.

    Attributes:
        out: Folder for all files.
        seed: Seed of all random numbers.
        jobs: Number of parallel threads or processes; results do not depend on it.
        quick: Whether to run a small sample, to see that everything works.
        lists: Sample size; ``None`` for the default of the study.
    """

    out: pathlib.Path
    seed: int = 1
    jobs: int = 1
    quick: bool = False
    lists: int | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("jobs", self.jobs, 1),
            ("lists", self.lists, 2),
            ("seed", self.seed, 0),
        ):
            if value is not None and value < least:
                raise errors.InputError(name, f"{value}: must be >= {least}")

    def sample(self, full: int, quick: int) -> int:
        """Return the sample size: ``lists`` if set, else the quick or the full one."""
        if self.lists is not None:
            return self.lists
        return quick if self.quick else full
