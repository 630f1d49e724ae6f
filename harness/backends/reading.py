"""Reading: the state of a device at one moment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The device's state at one moment: MHz, degrees Celsius, watts, and why its clock is lowered, if it is."""

    sm_mhz: float
    memory_mhz: float
    temperature_c: float
    power_w: float
    throttle: tuple[str, ...] = ()
