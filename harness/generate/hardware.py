"""What a prompt may say of the device that a kernel is meant for."""

from dataclasses import dataclass

from harness.errors import InputError


@dataclass(frozen=True)
class Hardware:
    """A GPU by its maker's figures; rates are those of dense matrices, None where it has no such unit.

    `bandwidth_gb_s` is of device memory; `shared_kib` is the most that one block may ask for.
    """

    name: str
    architecture: str
    capability: str
    multiprocessors: int
    memory_gb: int
    bandwidth_gb_s: int
    l2_mib: int
    shared_kib: int
    fp32_tflops: float
    tf32_tflops: float | None
    half_tflops: float | None

    @property
    def facts(self) -> str:
        """One line a fact."""
        lines = [
            f"{self.architecture}, compute capability {self.capability}, {self.multiprocessors} multiprocessors",
            f"{self.memory_gb} GB of memory at {self.bandwidth_gb_s:,} GB/s, {self.l2_mib} MiB of L2 cache",
            f"at most {self.shared_kib} KiB of shared memory for a block, 65,536 registers a multiprocessor",
            f"{self.fp32_tflops:g} TFLOP/s in float32 outside of the tensor cores",
        ]
        if self.tf32_tflops is not None:
            lines.append(f"{self.tf32_tflops:g} TFLOP/s in TF32 on the tensor cores")
        if self.half_tflops is not None:
            lines.append(f"{self.half_tflops:g} TFLOP/s in float16 on the tensor cores")
        return "\n".join(f"- {line}" for line in lines)


# Sources: NVIDIA's data sheets and architecture white papers of each, SXM form factor of A100, H100, H200 and B200;
# shared memory a block from the CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
_TABLE = (
    Hardware("NVIDIA B200", "Blackwell", "10.0", 148, 180, 7700, 126, 227, 75.0, 1100.0, 2250.0),
    Hardware("NVIDIA H200", "Hopper", "9.0", 132, 141, 4800, 50, 227, 67.0, 494.7, 989.4),
    Hardware("NVIDIA H100", "Hopper", "9.0", 132, 80, 3350, 50, 227, 67.0, 494.7, 989.4),
    Hardware("NVIDIA A100", "Ampere", "8.0", 108, 80, 2039, 40, 163, 19.5, 156.0, 312.0),
    Hardware("NVIDIA L40S", "Ada Lovelace", "8.9", 142, 48, 864, 96, 99, 91.6, 183.2, 362.1),
    Hardware("NVIDIA L4", "Ada Lovelace", "8.9", 58, 24, 300, 48, 99, 30.3, 60.0, 121.0),
    Hardware("NVIDIA GeForce RTX 4090", "Ada Lovelace", "8.9", 128, 24, 1008, 72, 99, 82.6, 82.6, 165.2),
    Hardware("NVIDIA V100", "Volta", "7.0", 80, 32, 900, 6, 96, 15.7, None, 125.0),
    Hardware("NVIDIA T4", "Turing", "7.5", 40, 16, 320, 4, 64, 8.1, None, 65.0),
)
HARDWARE = {each.name.rpartition(" ")[2].lower(): each for each in _TABLE}
"""By the last word of the name, in lower case: "h200"."""


def find_hardware(name: str) -> Hardware:
    """The device that a name means ("H200", "NVIDIA H200", "rtx 4090"). Raises InputError for one that is not known."""
    words = name.lower().replace("-", " ").split()
    for key, hardware in HARDWARE.items():
        if key in words:
            return hardware
    known = ", ".join(each.name.removeprefix("NVIDIA ") for each in _TABLE)
    raise InputError(f"no figures are known of {name!r}: --hardware knows {known}; leave it away to state none")
