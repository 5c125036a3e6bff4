"""The simulator: a host of the policies on a virtual clock."""
