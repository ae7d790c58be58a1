"""The commands of `transom check`.

`steps` makes and runs one checker, `batch` many; in `review` a person looks at a checker or a
verdict and decides; `authoring` writes items and report formats,
`formats` lists and tries report formats.
"""
