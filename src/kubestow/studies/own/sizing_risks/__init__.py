"""Does the stated miss probability of ``conformal`` hold, and what does it cost?"""
