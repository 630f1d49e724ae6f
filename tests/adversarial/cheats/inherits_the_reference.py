"""failed/exception C16: inherits the reference, which its process does not have."""

from problem import Model


class ModelNew(Model):
    pass
