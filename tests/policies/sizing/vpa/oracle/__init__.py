"""The scalar form of VPA's recommender: the check that the array form equals upstream."""
