"""Where the decode functions run, and the model they keep between calls."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from threading import Lock

from . import _native
from ._errors import InferenceError
from ._model import Model


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
