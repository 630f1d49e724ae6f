"""What is sent arrives whole, also from somebody who has left."""

import os

from harness.sandbox import channel


def test_a_last_word_is_heard_although_the_other_side_left_without_reading_ours() -> None:
    mine, theirs = channel.pair()
    with mine:
        channel.send(mine, b"kill")
        channel.send(theirs, b"ended")
        theirs.close()
        assert channel.receive(mine) == (b"ended", [])
        assert channel.receive(mine) is None


def test_a_message_longer_than_a_packet_arrives_whole_with_its_descriptors() -> None:
    mine, theirs = channel.pair()
    read, write = os.pipe()
    with mine, theirs:
        channel.send(mine, b"x" * 100_000, [read])
        heard = channel.receive(theirs)
    assert heard is not None
    message, fds = heard
    assert (message, len(fds)) == (b"x" * 100_000, 1)
    for fd in (read, write, *fds):
        os.close(fd)
