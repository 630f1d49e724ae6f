"""records -> rows -> text. Pure functions; nothing here prints, reads or writes.

`rows.leaderboard` ranks, `leaderboard.EXPORTERS` writes what it ranked, `text.report` and `text.one_line` tell one
record. Nothing is imported here, because each of them is wanted without the others.
"""
