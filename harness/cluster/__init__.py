"""Many machines as one engine: an actor a node of a Ray cluster, which judges there as `harness batch` does here.

    the driver: what waits ─► placement ─► an actor ─► LocalEngine over a session of its node ─► the future, the store

The driver keeps the store and is the only one to write it. Submissions, problems and settings go out, records and
attachments come back. Ray starts processes, carries messages and says which nodes there are, and nothing else.
"""
