"""What commands do, without terminal and without HTML."""
