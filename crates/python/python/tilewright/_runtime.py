"""Where the decode functions run, and the model they keep between calls."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from . import _native
from ._errors import InferenceError
from ._model import Model
from ._refusal import Refusal


class Runtime:
    """This machine: the device present, or the one asked for. Nothing is started and no port is opened.

    It keeps the model that it opened last, until `close()`.

    mode: `local`, the only one there is. device: as `Model.load` takes it. weights: likewise; `None` means int8 on the
    CPU and what the device prefers elsewhere. timeout: seconds that a decode may take once the model is open; `None`
    is no limit. `api_key`, `base_url` and `auto_start_daemon` belong to modes there are not: a key or an address is
    refused.
    """

    def __init__(
        self,
        *,
        mode: str = "local",
        api_key: str = "",
        timeout: float | None = None,
        auto_start_daemon: bool = True,
        base_url: str = "",
        device: str = "auto",
        weights: str | None = None,
    ) -> None:
        if mode != "local":
            raise InferenceError("invalid_arguments", f"mode: expected local, got {mode!r}")
        if api_key or base_url:
            raise InferenceError("invalid_arguments", "api_key, base_url: expected none, as nothing leaves the machine")
        self.mode = mode
        self.timeout = timeout
        self.device = device
        self.weights = weights
        self._lock = Lock()
        self._kept: tuple[Hashable, Model] | None = None

    def execute(self, module: str, function: str, args: Any = None, *, timeout: float | None = None) -> dict[str, Any]:
        """Calls a library function and says how that went; it never raises for what was refused.

        args: a list in the order of the parameters, a dict by their names, or the only argument by itself. timeout:
        seconds, in place of the runtime's; a call that takes longer ends as failed once it is done.
        """
        began = monotonic()
        device = self.device if self.device in ("metal", "shim") else "metal"
        result, code, message = None, None, None
        try:
            result = _native.execute(module, function, args, device, self.timeout if timeout is None else timeout)
        except Refusal as refusal:
            code, message = refusal.name, str(refusal)
        except TimeoutError as error:
            code, message = "runtime_execution_failed", str(error)
        envelope = {
            "result": result,
            "latency_ms": (monotonic() - began) * 1e3,
            "engine_used": "native" if code is None else "none",
            "success": code is None,
            "error": message,
        }
        return envelope if code is None else envelope | {"error_code": code}

    def execute_batch(self, items: Sequence[Mapping[str, Any]], *, partial_ok: bool = True) -> dict[str, Any]:
        """Calls library functions one after another: items of `module`, `function` and `args`.

        Without `partial_ok` the first failure ends it; what comes after has the code `not_executed`.
        """
        began = monotonic()
        results: list[dict[str, Any]] = []
        for item in items:
            if not partial_ok and not all(result["success"] for result in results):
                results.append({"result": None, "success": False, "error": None, "error_code": "not_executed"})
            else:
                results.append(self.execute(item["module"], item["function"], item.get("args")))
        good = sum(result["success"] for result in results)
        return {
            "results": results,
            "count": len(results),
            "ok": good,
            "failed": len(results) - good,
            "latency_ms": (monotonic() - began) * 1e3,
        }

    def libraries(self, q: str = "") -> list[dict[str, Any]]:
        """The library modules whose name, or a function's, holds `q`, with their functions."""

        def names(module: dict[str, Any]) -> list[str]:
            return [module["name"], *(function["name"] for function in module["functions"])]

        return [module for module in _native.modules() if any(q in name for name in names(module))]

    def list_modules(self) -> list[str]:
        """The names of the library modules."""
        return [module["name"] for module in _native.modules()]

    def list_functions(self, module: str) -> list[str]:
        """The names of a module's functions."""
        found = [one["functions"] for one in _native.modules() if one["name"] == module]
        if not found:
            raise InferenceError(
                "module_not_registered", f"module: expected one of {self.list_modules()}, got {module!r}"
            )
        return [function["name"] for function in found[0]]

    def health(self) -> dict[str, Any]:
        """Whether functions can be called, and on which device decodes run."""
        return {
            "status": "ok",
            "engine": "native",
            "module_count": len(_native.modules()),
            "runtime_available": True,
            "device": _native.choose_device(self.device),
        }

    def close(self) -> None:
        """Frees the model that is kept."""
        with self._lock:
            self._kept = None

    def model(
        self, checkpoint_dir: str | os.PathLike[str], *, attention: str | None = None, gemm: str | None = None
    ) -> Model:
        """The model in a folder: the one that is kept, unless it is another or its files have changed.

        attention, gemm: of a prompt; they count on the devices that have a choice, metal and shim.
        """
        kind = _native.choose_device(self.device)
        if kind not in ("metal", "shim"):
            attention = gemm = None
        weights = self.weights or ("int8" if kind == "cpu" else None)
        path = Path(checkpoint_dir)
        key = (path.resolve(), _stamp(path), kind, weights, attention, gemm)
        with self._lock:
            if self._kept is None or self._kept[0] != key:
                # The old one makes room for the new one.
                self._kept = None
                model = Model.load(path, device=kind, weights=weights, attention=attention, gemm=gemm)
                self._kept = (key, model)
            return self._kept[1]


def _stamp(path: Path) -> Hashable:
    """What changes when a file of a checkpoint does."""
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    return tuple((file.name, stat.st_size, stat.st_mtime_ns) for file in files for stat in [file.stat()])


#: The name that scripts for the local runtime use.
MojoRuntime = Runtime

_default: Runtime | None = None


def default_runtime() -> Runtime:
    """The runtime of functions that are given none."""
    global _default
    if _default is None:
        _default = Runtime()
    return _default
