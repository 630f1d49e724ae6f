"""In a worker that emulates CUDA, what candidates do with 'cuda' in Python works and is listed."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from harness.worker.substitute import CudaAsCpu


@pytest.fixture
def cuda() -> Iterator[CudaAsCpu]:
    with CudaAsCpu() as substitute:
        yield substitute


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.rand(3).cuda(),
        lambda: torch.rand(3).cuda(0, non_blocking=True),
        lambda: torch.rand(3).to("cuda"),
        lambda: torch.rand(3).to("cuda:0", torch.float64),
        lambda: torch.rand(3).to(device="cuda"),
        lambda: torch.rand(3).to(torch.device("cuda")),
        lambda: torch.rand(3).to(0),
        lambda: torch.zeros(3, device="cuda"),
        lambda: torch.zeros(3, device=torch.device("cuda", 0)),
        lambda: torch.zeros(3, device=0),
        lambda: torch.tensor([1.0], device="cuda", pin_memory=True),
        lambda: torch.arange(3, device="cuda:0"),
        lambda: torch.empty_like(torch.rand(3), device=torch.rand(3).device),
        lambda: torch.rand(3).new_zeros(3, device="cuda"),
        lambda: torch.rand(3, generator=torch.Generator(device="cuda").manual_seed(0), device="cuda"),
        lambda: nn.Linear(3, 4, device="cuda").weight,
        lambda: nn.Linear(3, 4).cuda().weight,
        lambda: nn.Linear(3, 4).to("cuda").bias,
        lambda: nn.Parameter(torch.rand(3).cuda()).pin_memory(),
    ],
)
def test_tensors_are_put_on_the_cpu_and_say_cuda(cuda: CudaAsCpu, make: Callable[[], torch.Tensor]) -> None:
    tensor = make()
    assert tensor.is_cuda
    assert not tensor.is_cpu
    assert tensor.device == torch.device("cuda", 0)
    assert tensor.get_device() == 0
    assert tensor.numel() > 0
    assert (tensor + tensor).sum().item() == pytest.approx(2 * tensor.sum().item(), nan_ok=True)  # of any memory


def test_moving_to_cuda_keeps_the_tensor_and_leaving_it_copies(cuda: CudaAsCpu) -> None:
    tensor = torch.zeros(3)
    assert tensor.cuda() is tensor
    assert tensor.to("cuda") is tensor
    for elsewhere in (tensor.cpu(), tensor.to("cpu"), tensor.to(torch.device("cpu"))):
        elsewhere += 1
    assert tensor.tolist() == [0, 0, 0]


def test_devices_as_context_and_as_default(cuda: CudaAsCpu) -> None:
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    assert torch.ones(2).tolist() == [1, 1]
    torch.set_default_device(None)
    assert "'cuda' taken as the CPU by torch.set_default_device" in cuda.substitutions


def test_a_device_object_still_says_cuda(cuda: CudaAsCpu) -> None:
    assert torch.device("cuda:0").type == "cuda"
    assert torch.device("cuda" if torch.cuda.is_available() else "cpu").type == "cuda"


def test_gradients_flow(cuda: CudaAsCpu) -> None:
    model = nn.Linear(3, 1).cuda()
    model(torch.ones(2, 3, device="cuda")).sum().backward()
    assert model.weight.grad is not None
    assert model.weight.grad.is_cuda
    assert model.weight.grad.tolist() == [[2, 2, 2]]


def test_streams_and_events_are_formalities(cuda: CudaAsCpu) -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream), torch.cuda.device(0):
        start.record()
        x = torch.ones(3, device="cuda")
        x.record_stream(stream)
        end.record(stream)
    torch.cuda.current_stream().wait_stream(stream)
    stream.wait_event(stream.record_event())
    torch.cuda.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    assert torch.cuda.current_stream().cuda_stream == 0


def test_the_device_is_described_as_on_the_cpp_side(cuda: CudaAsCpu) -> None:
    properties = torch.cuda.get_device_properties(0)
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (properties.major, properties.minor) == (9, 0)
    assert properties.multi_processor_count == 132
    assert properties.shared_memory_per_block_optin == 227 * 1024
    assert "emulated" in torch.cuda.get_device_name(0)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda: torch.cuda.CUDAGraph(), "torch.cuda.CUDAGraph"),
        (lambda: torch.cuda.graph(None), "torch.cuda.graph"),
        (lambda: torch.cuda.make_graphed_callables(None, ()), "torch.cuda.make_graphed_callables"),
        (lambda: torch.autocast("cuda"), "torch.autocast"),
        (lambda: torch.autocast(device_type="cuda", dtype=torch.float16), "torch.autocast"),
        (lambda: torch.amp.autocast("cuda"), "torch.autocast"),
        (lambda: torch.cuda.amp.autocast(), "torch.cuda.amp.autocast"),
        (lambda: torch.cuda.FloatTensor(3), "torch.cuda.FloatTensor"),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(cuda: CudaAsCpu, use: Callable[[], object], name: str) -> None:
    with pytest.raises(NotImplementedError, match=name):
        use()


def test_autocast_on_the_cpu_is_still_torchs_own(cuda: CudaAsCpu) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


def test_each_kind_of_substitution_is_listed_once_with_its_count(cuda: CudaAsCpu) -> None:
    assert cuda.substitutions == ()
    x = torch.rand(3).cuda()
    x.cuda().cuda()
    torch.cuda.synchronize()
    torch.zeros(3, device="cuda")
    assert cuda.substitutions == (
        "Tensor.cuda() kept on the CPU (3 times)",
        "torch.cuda.synchronize() had nothing to do",
        "'cuda' taken as the CPU by torch.zeros",
    )


def test_what_does_not_name_cuda_is_not_touched(cuda: CudaAsCpu) -> None:
    torch.manual_seed(0)
    nn.Linear(3, 4)(torch.rand(2, 3)).relu().sum().item()
    assert cuda.substitutions == ()


def test_afterwards_torch_is_as_it_was() -> None:
    before = vars(torch.cuda).copy(), torch.Generator, torch.autocast, torch.set_default_device
    with CudaAsCpu():
        assert torch.cuda.is_available()
    assert (vars(torch.cuda), torch.Generator, torch.autocast, torch.set_default_device) == before
    assert not torch.zeros(1).is_cuda
