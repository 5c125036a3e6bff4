"""Host of the policies on a virtual clock; for now the small kernel models it will stand on."""
