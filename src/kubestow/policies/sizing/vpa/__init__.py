"""The Vertical Pod Autoscaler, exactly: recommender, admission and updater rules by release."""
