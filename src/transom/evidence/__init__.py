"""Evidence: what a positive verdict must rest on. Numbers, words of trouble, identity, accounting
and claims are read here, for every product, as plain data and pure functions.

    numbers, units    a printed value with its unit, or why it is unknown
    dates             a printed date as a span of time; freshness
    identity          what a file or reading is about, compared with what is asked for
    subject_names     whether two names mean the same thing
    trouble           words of trouble that no rule explains
    account           which files, lines and words were used, which were not, and why
    caps              what holds a positive verdict back, and how a person lifts it
    claims, facts     whether a sentence holds against the evidence that it cites
    findings          the result of a gate
"""
