"""Is ``adaptive`` as good as the best heuristic of the thesis on any demand?"""
