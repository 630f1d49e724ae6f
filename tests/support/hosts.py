"""The host as a subject needs to know it, without what holding a device takes."""

import torch


class Host:
    """Stands for `backends.Hardware`: memory and clock are the host's own."""

    device, apart = torch.device("cpu"), False

    def ipc(self) -> None:
        pass
