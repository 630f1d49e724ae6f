"""records -> rows -> text. Pure functions; nothing here prints, reads or writes.

`judged.Judged` is what is ranked of a run, `rows.leaderboard` ranks it by the formulas of `metrics`,
`leaderboard.EXPORTERS` writes what was ranked, `page` shows it; `diff` compares two runs; `text.report` and
`text.one_line` tell one record. Nothing is imported here, because each of them is wanted without the others.
"""
