"""Files that lie elsewhere: s3://, gs://, az://, https://, hf://, memory:// and whatever pyarrow or fsspec know.

pyarrow's own file systems (S3, Google, Azure, Hadoop) need nothing else; all others come through fsspec. Credentials
are found by these libraries, or stand in the address; what people see of an address (`shown`) has neither them nor
signatures. A request that fails is made again after growing waits; what stays wrong is a `RequestError` in words. An
object is replaced in one step by whoever keeps it, so that it is never half written; there are no locks on addresses.
"""

from __future__ import annotations

import io
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, unquote

from robustream.errors import InvalidInputError, RequestError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Address",
    "Found",
    "as_text",
    "check_reachable",
    "fetching_ahead",
    "find",
    "is_address",
    "list_files",
    "open_address",
    "parse",
    "read_bytes",
    "shown",
    "write_bytes",
]

# Seconds to wait before a request that failed is made again.
WAITS = (0.25, 1.0, 4.0)
# Seconds after which a server that says nothing counts as one that does not answer.
_CONNECT, _ANSWER = 10.0, 60.0
# An object of up to so many bytes is fetched by one request, since each of them costs as much time as a megabyte.
_WHOLE = 1 << 26
# So many of them are fetched while the one before is worked on.
_AHEAD = 2
# Short reads are made longer, since the next one is mostly of what follows.
_LEAST_READ = 1 << 16

_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?:(?P<user>[^/@?]*)@)?(?P<path>.*?)(?:\?(?P<query>[^?/]*=.*))?", re.DOTALL
)
# pathlib makes one slash of two.
_SQUEEZED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)(.*)", re.DOTALL)
_PASSWORD = re.compile(r"(?<=://)[^/@\s'\"?]*:[^/@\s'\"?]*@|(?<=http://)[^/@\s'\"?]+@|(?<=https://)[^/@\s'\"?]+@")
_QUERY = re.compile(r"(://[^\s?'\"]*)\?[^\s'\"?/]*=[^\s'\"#]*")

# The kinds of addresses that pyarrow serves by itself, and what must be installed for others that fsspec knows.
_OWN = {"s3": "S3FileSystem", "s3a": "S3FileSystem", "gs": "GcsFileSystem", "gcs": "GcsFileSystem"}
_OWN |= {"az": "AzureFileSystem", "abfs": "AzureFileSystem", "abfss": "AzureFileSystem", "hdfs": "HadoopFileSystem"}
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_PACKAGES |= {"abfss": "adlfs", "sftp": "paramiko", "ssh": "paramiko", "github": "requests"}
_EXTRA = "pip install 'robustream[cloud]'"

_DENIED = "access is denied to the credentials that were found"
# What servers say, and what a person can do with it. The first pattern that is found counts.
_FINAL: tuple[tuple[str, str], ...] = (
    (r"NO_SUCH_BUCKET|NoSuchBucket|bucket '.*' not found|container .*not exist", "there is no such bucket"),
    (r"InvalidBucketName", "this is no name that a bucket can have"),
    (
        r"INVALID_ACCESS_KEY|InvalidAccessKeyId|SIGNATURE_DOES_NOT_MATCH|InvalidClientTokenId|INVALID_CLIENT_TOKEN|"
        r"EXPIRED_?TOKEN|\b401\b|Unauthorized|AuthFailure|AuthenticationFailed|INVALID_SIGNATURE|UNRECOGNIZED_CLIENT",
        "the credentials that were found are not accepted",
    ),
    (r"ACCESS_DENIED|AccessDenied|\b403\b|Forbidden|Permission denied", _DENIED),
    (r"range requests", f"the server gives no parts of a file, and this one has more than {_WHOLE >> 20} MB"),
    (r"NO_SUCH_KEY|RESOURCE_NOT_FOUND|\b404\b", "the object is not there any more"),
)
_NO_ANSWER = r"NETWORK_CONNECTION|connect|timed? ?out|curlCode|resolve|unreachable|reset by peer|Disconnected"

Result = TypeVar("Result")


class Address(NamedTuple):
    """The parts of an address, each as it was written."""

    scheme: str
    user: str  # what is before an @: credentials, mostly
    path: str
    query: str

    def at(self, path: str) -> str:
        """Return the address of another path of the same store."""
        if "://" in path:  # fsspec's paths on the web are addresses already
            return path
        user, query = f"{self.user}@" if self.user else "", f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{user}{path.lstrip('/')}{query}"


class Found(NamedTuple):
    """What is at an address; `kind` is "file", "folder" or "nothing"."""

    address: str
    kind: str
    size: int = 0
    written: datetime | None = None


def as_text(path: str | os.PathLike[str]) -> str:
    """Return a path or an address as text; that of a file on this machine as its path.

    >>> from pathlib import PurePosixPath
    >>> as_text(PurePosixPath("s3://bucket/a.csv")), as_text("file:///tmp/a%20b.csv")
    ('s3://bucket/a.csv', '/tmp/a b.csv')
    """
    text = os.fspath(path)
    if not isinstance(path, str) and (match := _SQUEEZED.fullmatch(text)) and match[1] in {*_OWN, *_usual_schemes()}:
        text = f"{match[1]}://{match[2]}"
    return unquote(text[len("file://") :]) if text.startswith("file://") else text


def _usual_schemes() -> tuple[str, ...]:
    return ("http", "https", "hf", "memory", "file", "ftp", "sftp")


def is_address(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is an address.

    >>> is_address("s3://bucket/a.csv"), is_address("data/a.csv"), is_address("file:///tmp/a.csv")
    (True, False, False)
    """
    return "://" in as_text(path) and ("::" in as_text(path) or _ADDRESS.fullmatch(as_text(path)) is not None)


def shown(text: str | os.PathLike[str]) -> str:
    """Return an address, or a text with addresses in it, without passwords and signatures.

    >>> shown("https://me:secret@host/a.csv?X-Amz-Signature=123"), shown("s3://key:secret@bucket/day-*.csv")
    ('https://host/a.csv', 's3://bucket/day-*.csv')
    """
    plain = os.fspath(text)
    return _QUERY.sub(r"\1", _PASSWORD.sub("", plain)) if "://" in plain else plain


def parse(address: str) -> Address:
    """Return the parts of an address."""
    match = _ADDRESS.fullmatch(address)
    if match is None or "::" in address:
        return Address("", "", address, "")
    return Address(match["scheme"].lower(), match["user"] or "", match["path"], match["query"] or "")


def find(address: str) -> Found:
    """Look at what is at an address."""
    store, path = _open_store(address)
    info = store.ask(lambda: store.look(path))
    # A folder on the web is a page that lists files.
    if info.type.name == "Directory" or (address.endswith("/") and info.type.name == "File"):
        return Found(address, "folder")
    if info.type.name != "File":
        return Found(address, "nothing")
    return Found(address, "file", int(info.size or 0), info.mtime)


def list_files(folder: str) -> list[Found]:
    """Return all files below an address, in the order of their names."""
    from pyarrow.fs import FileSelector

    store, path = _open_store(folder)
    selector = FileSelector(path, recursive=True)
    parts = parse(folder)
    try:
        files = [info for info in store.ask(lambda: store.files.get_file_info(selector)) if info.type.name == "File"]
    except FileNotFoundError:
        return []
    found = (Found(parts.at(info.path), "file", int(info.size or 0), info.mtime) for info in files)
    return sorted(found, key=lambda each: each.address)


def check_reachable(address: str) -> None:
    """Raise before any work if nothing can be written at an address: no package, no bucket, no credentials."""
    store, path = _open_store(address)
    top = path.partition("/")[0]
    # Only these have buckets, and tell of them.
    own = parse(address).scheme in _OWN
    info = store.ask(lambda: store.look(top if own else path))
    if own and info.type.name == "NotFound":
        raise RequestError("there is no such bucket")


def open_address(address: str, *, whole: bool = True) -> pa.NativeFile:
    """Open an object for reading.

    Parameters
    ----------
    address : where it is.
    whole : whether all of it will be read, most likely; then a small one is fetched at once.
    """
    import pyarrow as pa

    store, path = _open_store(address)
    on_the_web = parse(address).scheme in ("http", "https")
    if on_the_web and store.ask(lambda: store.files.get_file_info(path)).size is None:
        return pa.BufferReader(_read_unmeasured(store, path))
    with _guard:
        coming = _coming.pop(address, None) if whole else None
    if coming is not None:
        content = coming.result()
        if content is not None:
            return pa.BufferReader(content)
    file = _ObjectFile(store, path)
    # Many servers on the web give a file whole or not at all.
    if (whole or on_the_web) and file.bytes <= _WHOLE:
        return pa.BufferReader(file.fetch(0, file.bytes))
    return pa.PythonFile(file, mode="r")


@contextmanager
def fetching_ahead(files: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """Return a function to be told that a file is about to be read: the next ones are then fetched meanwhile.

    Only objects that are small enough to be fetched whole are; `open_address` has them at once.
    """
    asked: set[str] = set()
    pool = ThreadPoolExecutor(_AHEAD, thread_name_prefix="fetch-ahead")

    def about_to_read(place: int) -> None:
        for address in files[place + 1 : place + 1 + _AHEAD]:
            if is_address(address) and address not in asked:
                asked.add(address)
                with _guard:
                    _coming[address] = pool.submit(_fetch_whole, address)

    try:
        yield about_to_read
    finally:
        with _guard:
            for address in asked:
                _coming.pop(address, None)
        pool.shutdown(wait=False, cancel_futures=True)


def _fetch_whole(address: str) -> Any:
    store, path = _open_store(address)
    file = _ObjectFile(store, path)
    return file.fetch(0, file.bytes) if file.bytes <= _WHOLE else None


def _read_unmeasured(store: _Store, path: str) -> bytes:
    """Return a file whose size the server does not say."""

    def request() -> bytes:
        with store.files.open_input_stream(path, compression=None) as stream:
            return stream.read(_WHOLE + 1)

    content = store.ask(request)
    if len(content) > _WHOLE:
        raise RequestError(f"the server does not say how large the file is, and it has more than {_WHOLE >> 20} MB")
    return content


def read_bytes(address: str) -> bytes:
    """Return the content of an object; one that does not exist is a FileNotFoundError."""
    with open_address(address) as file:
        return file.read()


def write_bytes(address: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Put an object at an address, whole or not at all."""
    store, path = _open_store(address)
    content = b"".join(pieces)

    def put() -> None:
        with store.files.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    store.ask(put)


class _Store:
    """A file system, and how it answers."""

    def __init__(self, files: Any, system: Any = None) -> None:
        self.files = files
        self._system = system  # that of fsspec, if it is one
        self._silent = False

    def look(self, path: str) -> Any:
        """Return what pyarrow tells of a path."""
        info = self.files.get_file_info(path)
        if info.type.name == "NotFound" and self._system is not None:
            # fsspec takes a server that does not answer for a file that is not there.
            try:
                self._system.info(path)
            except FileNotFoundError as error:
                if not isinstance(_cause_of(error), FileNotFoundError):
                    raise
        return info

    def ask(self, request: Callable[[], Result]) -> Result:
        """Return what a request gives; make it again after a while if it fails, unless that cannot help.

        A store that did not answer to the last try of a request gets one try for each further one, so that thousands of
        objects do not wait for it one after the other; the first answer ends that.
        """
        waits = (0.0,) if self._silent else (0.0, *WAITS)
        for tries, wait in enumerate(waits, 1):
            if wait:
                time.sleep(wait)
            try:
                answer = request()
                self._silent = False
                return answer
            except Exception as raised:
                error = _cause_of(raised)
                if isinstance(error, FileNotFoundError):
                    raise
                reason = _in_words(error)
                if reason is None and tries < len(waits):
                    continue
                if reason is None:
                    self._silent = True
                    again = f", {tries} times" if tries > 1 else ""
                    reason = f"{_what_failed(error)}{again}"
                raise RequestError(reason) from raised
        raise AssertionError("every round returns, goes on or raises")


def _cause_of(error: Exception) -> Exception:
    """Return what is behind an error of fsspec: a server that fails is a file that is not there to it."""
    cause = error.__cause__
    return cause if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) else error


def _in_words(error: Exception) -> str | None:
    """Return what is wrong where another try cannot help."""
    if isinstance(error, RequestError):
        return str(error)
    text = str(error)
    words = next((words for pattern, words in _FINAL if re.search(pattern, text, re.IGNORECASE)), None)
    if words is None and isinstance(error, PermissionError):
        return _DENIED
    return words


def _what_failed(error: Exception) -> str:
    text = shown(" ".join(str(error).split())) or type(error).__name__
    if re.search(_NO_ANSWER, f"{type(error).__name__} {text}", re.IGNORECASE):
        return "the server does not answer"
    return f"the request failed ({text[:200]})"


def _open_store(address: str) -> tuple[_Store, str]:
    parts = parse(address)
    if parts.scheme in _OWN:
        bucket = parts.path.partition("/")[0]
        store = _own_store(parts.scheme, parts.user, bucket, parts.query, os.getpid())
        if store is not None:
            return store, parts.path
    return _other_store(address)


@lru_cache(maxsize=64)
def _own_store(scheme: str, user: str, bucket: str, query: str, process: int) -> _Store | None:
    """Return a file system of pyarrow; None if this pyarrow was built without it. A forked process has its own."""
    import pyarrow.fs as pa_fs

    try:
        getattr(pa_fs, _OWN[scheme])
    except (AttributeError, ImportError):
        return None
    options = {name: values[-1] for name, values in parse_qs(query).items()}
    try:
        if _OWN[scheme] == "S3FileSystem":
            return _Store(_s3(user, bucket, options))
        if scheme in ("gs", "gcs") and not query:
            # By itself it would try for a quarter of an hour.
            return _Store(
                pa_fs.GcsFileSystem(anonymous=user == "anonymous", retry_time_limit=timedelta(seconds=_CONNECT))
            )
        if scheme == "az":
            return _Store(_azure())
        return _Store(pa_fs.FileSystem.from_uri(Address(scheme, user, bucket, query).at(bucket))[0])
    except InvalidInputError:
        raise
    except Exception as error:
        raise RequestError(_in_words(error) or _what_failed(error)) from error


def _s3(user: str, bucket: str, options: dict[str, str]) -> Any:
    import pyarrow.fs as pa_fs

    key, _, secret = user.partition(":")
    endpoint = options.pop("endpoint_override", None)
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = options.pop("region", None) or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        region = pa_fs.resolve_s3_region(bucket)
    if unknown := options.keys() - {"scheme"}:
        raise InvalidInputError(f"an S3 address can have endpoint_override, region and scheme, got {min(unknown)}")
    return pa_fs.S3FileSystem(
        access_key=unquote(key) or None,
        secret_key=unquote(secret) or None,
        region=region,
        endpoint_override=endpoint,
        scheme=options.get("scheme"),
        connect_timeout=_CONNECT,
        request_timeout=_ANSWER,
        # Requests are made again here, by one rule for all stores.
        retry_strategy=pa_fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )


def _azure() -> Any:
    from pyarrow.fs import AzureFileSystem

    names = ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    account = next((os.environ[name] for name in names if os.environ.get(name)), None)
    if account is None:
        raise InvalidInputError(f"an az:// address needs the name of the account in {names[0]}")
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY") or os.environ.get("AZURE_STORAGE_KEY")
    return AzureFileSystem(account_name=account, account_key=key)


def _other_store(address: str) -> tuple[_Store, str]:
    """Return the file system that fsspec has for an address, and the path there."""
    scheme = re.split("::|://", address)[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InvalidInputError(f"addresses such as {scheme}://... need fsspec: {_EXTRA}") from error
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    try:
        system, path = url_to_fs(address)
    except ImportError as error:
        package = _PACKAGES.get(scheme)
        line = f"pip install {package}" if package else _EXTRA
        raise InvalidInputError(
            f"addresses such as {scheme}://... need a package that is not installed: {line}"
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"{scheme}:// is no kind of address that pyarrow or fsspec know") from error
    # fsspec gives the same object for the same address and process, and keeps what it saw in folders.
    with _guard:
        store = _others.setdefault(system, _Store(PyFileSystem(FSSpecHandler(system)), system))
    system.invalidate_cache()
    return store, path


_others: dict[Any, _Store] = {}
# Objects that are being fetched ahead, by their address.
_coming: dict[str, Future[Any]] = {}
_guard = threading.Lock()


class _ObjectFile(io.RawIOBase):
    """An object that is read from any place, by requests that are made again if they fail."""

    def __init__(self, store: _Store, path: str) -> None:
        self._store = store
        self._path = path
        self._opened: Any = None
        self._place = 0
        self._near: tuple[int, Any] = (0, b"")
        self.bytes = int(store.ask(lambda: self._open().size()))

    def _open(self) -> Any:
        if self._opened is None:
            try:
                self._opened = self._store.files.open_input_file(self._path)
            except FileNotFoundError as error:
                if self._store.look(self._path).type.name == "File":
                    raise OSError("it was not there, and is there now") from error
                raise
        return self._opened

    def fetch(self, start: int, size: int) -> Any:
        """Return some bytes; fewer at the end."""
        if size <= 0:
            return b""

        def request() -> Any:
            try:
                file = self._open()
                file.seek(start)
                return file.read_buffer(size)
            except Exception:
                self._opened = None
                raise

        return self._store.ask(request)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.bytes}[whence]
        self._place = max(0, start + offset)
        return self._place

    def size(self) -> int:
        """Return the number of bytes."""
        return self.bytes

    def read(self, size: int = -1) -> Any:
        """Return the bytes that follow."""
        left = max(0, self.bytes - self._place)
        wanted = left if size is None or size < 0 else min(size, left)
        first, near = self._near
        if not first <= self._place <= self._place + wanted <= first + len(near):
            first = self._place
            near = self.fetch(first, min(left, max(wanted, _LEAST_READ)))
            self._near = (first, near) if wanted < _LEAST_READ else (0, b"")
        begin = self._place - first
        taken = near[begin : begin + wanted]
        self._place += len(taken)
        return taken if isinstance(taken, bytes) else memoryview(taken).tobytes() if len(taken) < _LEAST_READ else taken

    def readinto(self, buffer: Any) -> int:
        taken = memoryview(self.read(len(buffer)))
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._opened, self._near = None, (0, b"")
        super().close()
