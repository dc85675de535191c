"""The before and after: one recorded conversation through every runtime, one after the other, and what came of it.

`course` holds it, each runtime in a process of its own (`holding`); `making` turns logs and sounds into a report;
`recorded` finds sessions that were held on machines that are not here. Knows no window.
"""
