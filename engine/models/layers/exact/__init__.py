"""The libraries' sums in the libraries' order, by kernels of our own, for launches of few rows.

A product of a hundred rows leaves most of a GPU idle as the libraries compute it, and what stands around it is a kernel
for every operation. These kernels add in the same order, so they come to the same bits, sooner. Which order a library
takes depends on the device, its version and the shape: so nothing here is used unseen. Whoever wants to use it compares
first, on the device at hand, and goes on with the library where a single bit differs.
"""
