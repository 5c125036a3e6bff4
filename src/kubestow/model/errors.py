"""Errors a user sees as one line: bad input, and services that do not answer."""


class InputError(ValueError):
    """Bad input, refused with its place, its value and what was expected.

    The command line prints it as one line and leaves with exit code 2.

    Args:
        place: File, document and path of the offending value, e.g. ``pods.yaml#2: spec.nodeName``.
        problem: What is wrong and what was expected.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}" if place else problem)


class UnavailableError(RuntimeError):
    """A service that is needed does not answer; the same call may work later.

    The command line prints it as one line and leaves with exit code 2.

    Args:
        place: The service's address, without secrets.
        problem: What it or its driver reported.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}")
