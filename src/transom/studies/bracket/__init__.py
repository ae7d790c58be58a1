"""The L-bracket that ships as an example: meshed by gmsh, solved by CalculiX, or by an emulator
of the two.
"""
