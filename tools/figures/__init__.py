"""Ties every number in the README and the documentation to a field of a results file.

``docs/evidence/figures.json`` lists the numbers of each page in reading order, each with its
source (``sources`` has the grammar of fields):

- ``0.16 = trace-scaling points[trace=twitter; target=0.2].ratio``: a field, or fields computed
  with, of ``docs/evidence/trace-scaling/results.json``.
- ``28 : setting``: no result but a constant: a setting, a version, a formula, an option's default.
- ``0.52 : published``: a figure of somebody else's publication or program.
- ``0.483 : recorded``: measured once for a decision; only ``decisions.md`` may have these.
- ``0.16 ? trace-scaling rows.3.closed``: a proposal that nobody has confirmed. It fails the test;
  write ``=`` for ``?`` if it is the right field.

``python -m tools.figures`` brings the list up to date: it keeps what still holds, gives a number
that changed with its results its old source, and proposes sources for new numbers.
"""

from tools.figures.checking import LIST, problems
from tools.figures.pages import checked_pages, name_of
from tools.figures.proposals import update

__all__ = ["LIST", "checked_pages", "name_of", "problems", "update"]
