"""From a problem to submissions by any server that speaks OpenAI's API.

`prompts` makes messages of a problem, `asking` sends them, `client` and `apis` hear one answer out, `folder` keeps it;
`feedback` and `conversation` turn a verdict into the next question.
"""
