"""Claims: what a checklist line says of the measurements that report formats yield.

    ranking.candidates("Confirm that setup timing is met.", items_values) -> up to three candidates
    claim_files.write(...)      -> ItemSpec, checker.yaml and atoms.py of a claim, in one step

`claim_data` is the shape of `claims.yaml`. A claim is read at once only if the description is one
of its written sentences; otherwise a person chooses once, and the item keeps that as `reads_as`.
"""
