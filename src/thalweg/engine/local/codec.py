"""Encoding of messages between processes."""

from __future__ import annotations

import io
import pickle
import traceback
from typing import Any

from thalweg.engine.core.user_modules import pickled
from thalweg.engine.local.messages import Load, Message
from thalweg.engine.storage.error_documents import from_document, to_document
from thalweg.errors import EngineError, ThalwegError, summary
from thalweg.runtime.frame import Frame, decode, encode


class _MessagePickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Frame):
            return decode, (encode(obj),)
        if isinstance(obj, ThalwegError):
            return from_document, (to_document(obj),)
        if isinstance(obj, BaseException):
            return _restored, (_pickled(obj), "".join(traceback.format_exception(obj)))
        return NotImplemented


def _pickled(error: BaseException) -> bytes:
    """The pickled exception, or only its text if it cannot be unpickled, as may happen with user-defined classes."""
    try:
        data = pickled(error)
        if isinstance(pickle.loads(data), BaseException):
            return data
    except Exception as problem:  # a user-defined class may raise anything when it is pickled
        return pickle.dumps(EngineText(summary(error), f"{type(problem).__name__}: {problem}"))
    return pickle.dumps(EngineText(summary(error), "its copy is not an exception"))


class EngineText(Exception):
    """A substitute for an exception that cannot be sent: its text, and the reason."""


def _restored(data: bytes, trace: str) -> BaseException:
    error: BaseException = pickle.loads(data)
    if isinstance(error, EngineText):
        hint = f"the exception itself cannot be pickled: {error.args[1]}"
        error = EngineError("a worker failed", found=error.args[0], hint=hint)
    error.add_note(f"in a worker:\n{trace}")
    return error


def dumps(message: Message) -> bytes:
    if isinstance(message, Load):
        return pickled(message)  # with the user's functions
    out = io.BytesIO()
    _MessagePickler(out, protocol=5).dump(message)
    return out.getvalue()


def loads(data: bytes) -> Message:
    message: Message = pickle.loads(data)
    return message
