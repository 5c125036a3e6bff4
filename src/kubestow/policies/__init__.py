"""What to do: pure functions of the model, without input, output or clock."""
