"""Steps page: words of shared memory by which a call is asked for and answered, while both sides look on.

A message takes either side some 10 us in Python, and whoever waits for it asleep some 50 more. Short calls take less,
and who put a loop of its own in the place of the worker's, or answered before its output is there, would seem so much
faster.
"""

SHOWN = 0
"""The word that the judge writes: the number of the call, from 1 on, times 2**32, and its slot."""
ANSWERED = 1
"""The number of the call that the worker has answered last. It writes this after the words that follow."""
TENSORS = 2
"""How many tensors the output of that call has; their addresses follow from ADDRESSES on."""
PLAIN = 3
"""64 bits of what the output holds besides tensors, as in `worker_messages.Done`."""
SEED = 4
"""What the judge writes before a call that has a seed of its own (`worker_messages.Steps`)."""
TEXT_BYTES = 5
"""How many bytes of text the judge wrote from the end of the words on: what the call is given besides tensors, as in
`worker_messages.Go`, where that was drawn anew; else 0."""
ADDRESSES = 6
MOST_TENSORS = 1 << 10
"""Of so many tensors the addresses are told."""
WORDS = ADDRESSES + MOST_TENSORS
OVER = (1 << 64) - 1
"""What the judge writes in the place of a call once there are no more."""


def shown(number: int, slot: int) -> int:
    """The word that asks for a call."""
    return number << 32 | slot


def slot_of(word: int) -> int:
    """The slot that it names."""
    return word & 0xFFFFFFFF


def number_of(word: int) -> int:
    """The number of the call that it asks for."""
    return word >> 32


def text_in(words: memoryview) -> memoryview:
    """The bytes that follow the words."""
    return words.cast("B")[8 * WORDS :]
