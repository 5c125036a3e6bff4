"""HTML pages and figures of the results of workflows."""
