"""wrong/structure D14: the type of its output has a name of three million letters, some of which move a cursor."""

import torch

Output = type("\x1b]0;owned\x07\x1b[2J\n| [/red] <script>" + "A" * 3_000_000, (), {})


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Output()
