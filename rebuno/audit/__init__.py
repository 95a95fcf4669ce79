"""An audit stream: what a store's logs hold, as lines that another system keeps, with signed heads.

`stream` writes the lines, `check` holds a file of them against a public key, `keys` makes and reads keys.
"""
