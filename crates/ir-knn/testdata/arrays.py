"""Writes the arrays in npy/ with NumPy 2.4.6, for tests/integration/npy.rs.

    pip install numpy==2.4.6
    python arrays.py
"""

import pickle

import numpy as np
from numpy.lib import format as npy

values = [[1, -2, 3], [4, 5, -60]]
for kind in ["f2", "f4", "f8", "i1", "i2", "i4"]:
    np.save(f"npy/{kind}.little.npy", np.array(values, "<" + kind))
    np.save(f"npy/{kind}.big.npy", np.array(values, ">" + kind))
    np.save(f"npy/{kind}.column.npy", np.asfortranarray(np.array(values, "<" + kind)))
    with open(f"npy/{kind}.v2.npy", "wb") as file:
        npy.write_array(file, np.array(values, kind), version=(2, 0))
np.save("npy/u2.npy", np.array([[65535, 0]], "u2"))
np.save("npy/half.npy", np.array([[65504, 2**-24, -1 / 3, 6.1e-5]], "f2"))
np.save("npy/i8.npy", np.array(values, "i8"))
np.save("npy/one.npy", np.arange(4.0))
np.save("npy/three.npy", np.zeros((2, 2, 2)))
np.save("npy/none.npy", np.array(1.0))
np.save("npy/empty.npy", np.zeros((0, 3)))
np.save("npy/nan.npy", np.array([[1.0, 2.0], [np.nan, 0.0]]))
np.save("npy/text.npy", np.array([["tea"]]))
np.save("npy/record.npy", np.zeros((1, 1), [("a", "f4"), ("b", "f4")]))
np.save("npy/object.npy", np.array([[None]]))
np.savez("npy/x.npz", np.zeros((1, 1)))
with open("npy/x.pickle", "wb") as file:
    pickle.dump([1.0], file)
