"""The live host: runs the policies on a real cluster."""
