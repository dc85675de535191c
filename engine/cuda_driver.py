"""CUDA's driver, by way of cuda-bindings: loaded when it is wanted, and every answer checked. Entered by [engine]."""

import importlib
from collections.abc import Callable
from typing import Any

from engine.errors import CadenceError, MissingPart


class Cuda:
    """The driver's functions, by name; each returns what it gave, or raises.

    A lone value is returned as it is, several as a tuple, none as None.

    Raises:
        MissingPart: cuda-bindings is not installed.
    """

    def __init__(self) -> None:
        try:
            self.names: Any = importlib.import_module("cuda.bindings.driver")  # types and constants
        except (ImportError, OSError, RuntimeError) as error:
            raise MissingPart(
                f"cuda-bindings cannot be loaded ({error})",
                "it, to keep a session's state on the GPU",
                "pip install 'duplexcadence[cuda]', or run on the CPU",
            ) from error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self.names, name)

        def checked(*arguments: Any) -> Any:
            code, *given = function(*arguments)
            if code != self.names.CUresult.CUDA_SUCCESS:
                raise DriverFailed(name, code.name)
            return given[0] if len(given) == 1 else tuple(given) or None

        setattr(self, name, checked)
        return checked


class DriverFailed(CadenceError):
    """The driver refused.

    Args:
        function: What was asked of it.
        code: What it answered, by CUDA's name.
    """

    def __init__(self, function: str, code: str) -> None:
        self.code = code
        super().__init__(f"the GPU's driver failed ({function}: {code})", "", "begin the session again")
