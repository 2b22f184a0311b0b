"""Messages as bytes, from process to process."""

from __future__ import annotations

import io
import pickle
import traceback
from typing import Any

from thalweg.engine.core.user_modules import pickled
from thalweg.engine.local.messages import Load, Message
from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.errors import EngineError, ThalwegError
from thalweg.runtime.frame import Frame, decode, encode


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Frame):
            return decode, (encode(obj),)
        if isinstance(obj, ThalwegError):
            return from_document, (to_document(obj),)
        if isinstance(obj, BaseException):
            return _again, (_pickled(obj), "".join(traceback.format_exception(obj)))
        return NotImplemented


def _pickled(error: BaseException) -> bytes:
    """An exception of the user's own may have no way back; then its text goes."""
    try:
        data = pickled(error)
        if isinstance(pickle.loads(data), BaseException):
            return data
    except Exception as problem:  # whatever its class does when it is copied
        return pickle.dumps(EngineText(f"{type(error).__name__}: {error}", f"{type(problem).__name__}: {problem}"))
    return pickle.dumps(EngineText(f"{type(error).__name__}: {error}", "its copy is no exception"))


class EngineText(Exception):
    """What is left of an exception that cannot be sent: its text, and why."""


def _again(data: bytes, told: str) -> BaseException:
    error: BaseException = pickle.loads(data)
    if isinstance(error, EngineText):
        error = EngineError("a worker failed", found=error.args[0], hint=f"not sent as it was: {error.args[1]}")
    error.add_note(f"in a worker:\n{told}")
    return error


def dumps(message: Message) -> bytes:
    if isinstance(message, Load):
        return pickled(message)  # with the user's functions
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(message)
    return out.getvalue()


def loads(data: bytes) -> Message:
    message: Message = pickle.loads(data)
    return message
