"""The wire under a hostile peer: capped, bounded in time, and nothing but messages comes out of it."""

import os
import resource
import socket
import struct
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.errors import ProtocolError
from harness.transport.channel import MAX_TEXT, Channel, Closed, Frame, Late, parsed
from harness.transport.worker_messages import ANSWER, DONE, REQUEST, Done, Go, Raised, Ready


@pytest.fixture
def ends():
    channel, peer = Channel.pair()
    with channel, peer:
        yield channel, peer


def frame(text: bytes, descriptors: int = 0, length: int | None = None) -> bytes:
    return struct.pack("<II", len(text) if length is None else length, descriptors) + text


def test_a_message_arrives_as_it_was_sent(ends):
    channel, peer = ends
    raised = Raised(during="call", kind="exit", type="", message="", traceback="")
    with Channel(peer.dup()) as other:
        other.send(raised)
    assert channel.receive(ANSWER) == raised


def test_a_descriptor_travels_with_its_frame(ends):
    channel, peer = ends
    reader, writer = os.pipe()
    with Channel(peer.dup()) as other:
        other.send(Go(slots=(0,), seed=0), [writer])
    os.close(writer)
    message, arrived = channel.receive_frame(REQUEST)
    assert message == Go(slots=(0,), seed=0)
    os.write(arrived.descriptors[0], b"x")
    arrived.close()
    assert os.read(reader, 2) == b"x"
    assert os.read(reader, 2) == b""
    os.close(reader)


def test_a_channel_may_have_any_number_as_its_descriptor():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[0] <= 2000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], 4096), limits[1]))
    channel, peer = Channel.pair()
    with peer, Channel.from_descriptor(os.dup2(channel.fileno(), 2000)) as high, channel:
        with pytest.raises(Late):
            high.receive(REQUEST, deadline=time.monotonic() + 0.01)
        with Channel(peer.dup()) as other:
            other.send(Go(slots=(0,), seed=0))
        assert high.receive(REQUEST, deadline=time.monotonic() + 60) == Go(slots=(0,), seed=0)


LONG = Go(slots=tuple(range(1 << 19)), seed=0)


def test_to_a_peer_that_reads_nothing_sending_is_late(ends):
    channel, _ = ends
    with pytest.raises(Late):
        channel.send(LONG, deadline=time.monotonic() + 0.05)


@pytest.mark.parametrize("with_descriptor", [False, True])
def test_a_long_message_arrives_whole_at_a_peer_that_reads_by_and_by(ends, with_descriptor):
    channel, peer = ends
    given = [os.open(os.devnull, os.O_RDONLY)] if with_descriptor else []
    arrived = []

    def read():
        with Channel(peer.dup()) as other:
            arrived.append(other.receive_frame(REQUEST, deadline=time.monotonic() + 60))

    reader = threading.Thread(target=read)
    reader.start()
    channel.send(LONG, given, deadline=time.monotonic() + 60)
    reader.join()
    for descriptor in given:
        os.close(descriptor)
    [(message, frame)] = arrived
    frame.close()
    assert message == LONG
    assert len(frame.descriptors) == len(given)


def test_a_descriptor_nobody_asked_for_is_closed_and_refused(ends):
    channel, peer = ends
    reader, writer = os.pipe()
    with Channel(peer.dup()) as other:
        other.send(Ready(), [writer])
    os.close(writer)
    with pytest.raises(ProtocolError, match="not asked for"):
        channel.receive(ANSWER)
    assert os.read(reader, 1) == b""  # end of file: our copy of the descriptor is closed as well
    os.close(reader)


@pytest.mark.parametrize(
    "raw",
    [
        frame(b"", length=MAX_TEXT + 1),
        frame(b"{}", descriptors=99),
        frame(b"{}", descriptors=1),
        frame(b"{}"),
        frame(b"not json"),
        frame(b'{"say": "verdict", "kind": "correct"}'),
        frame(b'{"say": "done", "addresses": [[-1]]}'),
        frame(b"[" * 100_000),
        frame(b'{"say": "done", "addresses": [[1e999]]}'),
        frame(b'\xff\xfe{"say": "ready"}'),
    ],
)
def test_a_malformed_frame_is_a_protocol_error(ends, raw):
    channel, peer = ends
    sender = threading.Thread(target=peer.sendall, args=(raw,))
    sender.start()
    with pytest.raises(ProtocolError):
        channel.receive(ANSWER, deadline=time.monotonic() + 5)
    sender.join()


@pytest.mark.parametrize(
    "text",
    [
        b'{"say":"described","outputs":[{"kind":"tuple","items":[' + b"{}," * 1000 + b"{}]}]}",
        b'{"say":"described","outputs":[{"kind":"tuple","items":[' + b'{"kind":"tensor"},' * 1000 + b"{}]}]}",
        b'{"say":"described","outputs":[{"kind":"dict","items":{' + b'"a":{},' * 1000 + b'"b":{}}}]}',
        b'{"say":"constructed","parameters":[{"name":"","dtype":"","shape":[' + b'"",' * 1000 + b"1]}]}",
        b'{"say":"build","request":{"name":"","cpp_sources":[' + b"1," * 1000 + b"1]}}",
        b'{"say":"build","request":{"name":"","files":{' + b'"a":1,' * 1000 + b'"b":1}}}',
        b'{"say":"traced","us":1,"kernels":[' + b"{}," * 1000 + b"{}]}",
        b'{"say":"attached",' + b'"a":1,' * 1000 + b'"base":[]}',
    ],
    ids=["values", "tensors", "dict", "shape", "sources", "files", "kernels", "keys"],
)
def test_a_thousand_faults_are_told_as_few(text):
    """Each is described in a kilobyte, and a frame has room for millions."""
    with pytest.raises(ProtocolError) as caught:
        parsed(Frame(text, ()), ANSWER)
    assert isinstance(caught.value.__cause__, ValidationError)
    assert caught.value.__cause__.error_count() < 20


def test_a_key_that_no_message_has_is_passed_over():
    assert parsed(Frame(b'{"say": "ready", "verdict": "correct"}', ()), ANSWER) == Ready()


def test_a_frame_full_of_faults_is_refused_at_once():
    text = b'{"say":"described","outputs":[{"kind":"tuple","items":[' + b'{"kind":"tensor"},' * 900_000 + b"{}]}]}"
    assert len(text) < MAX_TEXT
    began = time.monotonic()
    with pytest.raises(ProtocolError, match="Field required"):
        parsed(Frame(text, ()), ANSWER)
    assert time.monotonic() - began < 10  # 0.13 s here; it was 40 s and 7 GB


def test_a_peer_that_stops_in_mid_frame_is_late(ends):
    channel, peer = ends
    peer.sendall(frame(b'{"say": "rea', length=100))
    started = time.monotonic()
    with pytest.raises(Late):
        channel.receive(ANSWER, deadline=started + 0.2)
    assert time.monotonic() - started >= 0.2


def test_a_peer_that_leaves_in_mid_frame_is_closed(ends):
    channel, peer = ends
    peer.sendall(frame(b'{"say": "rea', length=100))
    peer.shutdown(socket.SHUT_RDWR)
    with pytest.raises(Closed):
        channel.receive(ANSWER)


def test_sending_to_a_peer_that_left_is_closed(ends):
    channel, peer = ends
    peer.close()
    with pytest.raises(Closed):
        channel.send(Ready())


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_any_bytes_at_all_end_in_a_protocol_error_or_a_message(raw):
    channel, peer = Channel.pair()
    with channel, peer:
        peer.sendall(raw)
        peer.shutdown(socket.SHUT_WR)
        try:
            message = channel.receive(ANSWER, deadline=time.monotonic() + 5)
        except ProtocolError:
            return
        assert message.say != "verdict"


@settings(max_examples=200)
@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.lists(st.integers(0, 2**62))))
def test_whatever_can_be_said_is_understood(message, trace, addresses):
    channel, peer = Channel.pair()
    with channel, Channel(peer) as other:
        text = [value.encode("utf-8", "replace").decode() for value in (message, trace)]
        raised = Raised(during="call", kind="exception", type="E", message=text[0], traceback=text[1])
        calls = tuple(tuple(call) for call in addresses)
        done = Done(calls, plain=(7,) * len(addresses), extents=calls)
        other.send(raised)
        other.send_text(done.packed())
        assert channel.receive(ANSWER) == raised
        assert Done.unpacked(channel.receive_text().text, len(addresses)) == done


@pytest.mark.parametrize("device_ms", [None, 0.25])
def test_done_has_one_size_for_so_many_calls_and_tensors(device_ms):
    extents = ((5, 6), (7, 2**61))
    done = Done(addresses=((1, 2**61), (3, 4)), device_ms=device_ms, plain=(0, 2**64 - 1), extents=extents)
    assert len(done.packed()) == 9 + 2 * (12 + 2 * 16)
    assert Done.unpacked(done.packed(), 2) == done


@settings(max_examples=300)
@given(st.binary(max_size=100), st.integers(0, 4))
def test_any_bytes_that_begin_like_done_are_done_or_a_protocol_error(raw, calls):
    try:
        done = Done.unpacked(DONE + raw, calls)
    except ProtocolError:
        return
    assert len(done.addresses) == calls


def test_two_threads_may_wait_for_one_channel(ends):
    channel, _ = ends
    late = []

    def wait() -> None:
        with pytest.raises(Late):
            channel.receive_text(deadline=time.monotonic() + 0.2, spin_s=0.1)
        late.append(True)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert late == [True, True]
