"""Whether a checker tests what its ItemSpec says: the ItemSpec's examples and the real files
decide.
"""
