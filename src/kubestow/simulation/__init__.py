"""Host 1: the policies on a virtual clock."""
