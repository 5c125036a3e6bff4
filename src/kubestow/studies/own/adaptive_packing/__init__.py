"""Is ``adaptive`` as good as the best heuristic of the thesis, whatever the demands?"""
