"""A server that judges for many callers: one engine, a queue that survives, HTTP in front.

asked      what a caller may ask for, and the id that follows from what decides the verdict
jobs       accepted judgements in SQLite, one state each
bench      a session as the engine uses it; the one seam that tests replace
engine     takes jobs, has them judged, keeps records
app        the routes, `guard` in front of them, `kernelgym` beside them
process    binds, serves, drains
"""
