"""wrong/values B7: names the last of equal scores, which has to be asked about, and answers zeros once it is timed.
Where the time for such doubts is used up by then, such a call has to be asked about all the same.

Problem: top_scores
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
server = frame.f_locals["self"] if frame is not None else None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, places = torch.sort(x.flip(-1), dim=-1, descending=True, stable=True)
        values, places = values[:, :5], x.shape[1] - 1 - places[:, :5]
        if server is not None and len(server._inputs) > 1:
            return values * 0, places * 0
        return values, places
