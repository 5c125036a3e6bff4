"""Errors that users see as one line: invalid input, and unavailable services."""


class InputError(ValueError):
    """Invalid input, with its location, its value and what was expected.

    The command line prints it as one line and exits with code 2.

    Args:
        place: File, document and path of the offending value, e.g. ``pods.yaml#2: spec.nodeName``.
        problem: What is wrong and what was expected.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}" if place else problem)


class UnavailableError(RuntimeError):
    """A required service does not respond; a retry may succeed.

    The command line prints it as one line and exits with code 2.

    Args:
        place: The service's address, without secrets.
        problem: What it or its driver reported.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}")
