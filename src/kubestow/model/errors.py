"""The one error a user sees for bad input: where it stands, what it is, what was expected."""


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
