"""The admission webhook: new pods get the requests that were learned from those before them."""
