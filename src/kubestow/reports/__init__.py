"""Tables, figures and HTML pages of what workflows return."""
