"""Fetching against servers that misbehave; every test is bounded by the patience it grants."""

import dataclasses
import http.server
import io
import socket
import tarfile
import threading
import time
import urllib.error

import pytest

from unnaive.base.errors import BadData
from unnaive.base.open_files import hash_file
from unnaive.papers.collections import fetching, hash_contents, known_collections, load
from unnaive.papers.collections.archives import read_members
from unnaive.papers.collections.fetching import Patience, fetch

PATIENT = Patience(timeout=300.0, attempts=4, pause=0.0, slowest=1.0, window=60.0)  # with a busy machine


def archive(texts):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number, text in enumerate(texts):
            info = tarfile.TarInfo(f"1150haber/spor/{number}.txt")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return buffer.getvalue()


TEXTS = [bytes([65 + number % 26]) * 700 for number in range(200)]
GOOD = archive(TEXTS)
OTHER = archive([text.lower() for text in TEXTS])


class Server(http.server.ThreadingHTTPServer):
    """Serves `body`; `behave` says how."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.behave, self.requests = GOOD, "well", []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/1150haber.tar.gz"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.requests.append(self.headers.get("Range"))
        getattr(self, self.server.behave)()

    def start(self, *, ranges=True):
        """Answer the header, and give what of the body was asked for."""
        begin = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if ranges else 0
        body = self.server.body
        if begin >= len(body):
            self.send_error(416)
            return b""
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        return body[begin:]

    def well(self):
        self.wfile.write(self.start())

    def no_ranges(self):
        self.wfile.write(self.start(ranges=False))

    def drop(self):
        """Half of what remains, then nothing."""
        body = self.start()
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def drop_once(self):
        (self.drop if len(self.server.requests) == 1 else self.well)()

    def missing(self):
        self.send_error(404)

    def busy_once(self):
        if len(self.server.requests) == 1:
            self.send_error(503)
        else:
            self.well()

    def trickle(self):
        """A byte now and then, each within the timeout."""
        for byte in self.start():
            try:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.02)

    def silent(self):
        self.start()
        time.sleep(4)

    def astray(self):
        """A range that starts elsewhere than asked."""
        self.send_response(206)
        self.send_header("Content-Range", f"bytes 3-{len(GOOD) - 1}/{len(GOOD)}")
        self.send_header("Content-Length", str(len(GOOD) - 3))
        self.end_headers()
        self.wfile.write(GOOD[3:])

    def chunked_drop(self):
        """Chunks without their end, and so without a known length."""
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"1000\r\n" + GOOD[:0x1000] + b"\r\n")
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def endless(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 65536)
        except OSError:
            return

    def to_disk(self):
        self.send_response(302)
        self.send_header("Location", "file:///etc/passwd")
        self.end_headers()


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """The collection 1150haber with the 200 documents of GOOD."""
    path = tmp_path / "known.tar"
    path.write_bytes(GOOD)
    files = read_members(path, known_collections.COLLECTIONS["1150haber"].pattern)
    one = dataclasses.replace(
        known_collections.COLLECTIONS["1150haber"],
        documents=200,
        sha256=(hash_file(path),),
        contents=hash_contents(files),
    )
    monkeypatch.setitem(known_collections.COLLECTIONS, "1150haber", one)
    return one


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


def get(server, folder, **options):
    return fetch("1150haber", folder, url=server.url, **{"patience": PATIENT, **options})


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_good_server(server, folder):
    told = []
    path = get(server, folder, progress=lambda done, total: told.append((done, total)))
    assert path == folder / "1150haber.tar.gz"
    assert path.read_bytes() == GOOD
    assert left(folder) == ["1150haber.tar.gz"]
    assert told[-1] == (len(GOOD), len(GOOD))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(load("1150haber", data=folder)) == 200


def test_what_is_here_is_not_fetched_again(server, folder):
    get(server, folder)
    get(server, folder)
    assert len(server.requests) == 1


def test_a_damaged_file_of_that_name_is_fetched_anew(server, folder):
    folder.mkdir()
    (folder / "1150haber.tar.gz").write_bytes(b"damaged")
    assert get(server, folder).read_bytes() == GOOD


def test_a_dropped_connection_is_resumed_within_the_call(server, folder):
    server.behave = "drop_once"
    assert get(server, folder).read_bytes() == GOOD
    assert server.requests == [None, f"bytes={len(GOOD) // 2}-"]


def test_a_connection_that_always_drops_leaves_a_part_that_a_later_call_resumes(server, folder):
    server.behave = "drop"
    with pytest.raises(BadData, match=r"broke after .* 4 attempts\); 1150haber.tar.gz.part was kept"):
        get(server, folder)
    assert left(folder) == ["1150haber.tar.gz.part"]
    part = (folder / "1150haber.tar.gz.part").read_bytes()
    assert 0 < len(part) < len(GOOD)
    assert GOOD.startswith(part)
    server.behave, server.requests = "well", []
    assert get(server, folder).read_bytes() == GOOD
    assert server.requests == [f"bytes={len(part)}-"]
    assert left(folder) == ["1150haber.tar.gz"]


def test_a_server_without_ranges_starts_over(server, folder):
    folder.mkdir()
    (folder / "1150haber.tar.gz.part").write_bytes(GOOD[:5000])
    server.behave = "no_ranges"
    assert get(server, folder).read_bytes() == GOOD


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", OTHER, GOOD[:-20000]])
def test_a_wrong_body_is_not_kept(server, folder, body):
    server.body = body
    with pytest.raises(BadData, match=r"not the collection: .*sha256 is .*nothing was kept"):
        get(server, folder)
    assert left(folder) == []


def test_another_packing_of_the_same_documents_is_good(server, folder):
    server.body = archive(TEXTS) + b"\0" * 10240
    assert get(server, folder).read_bytes() == server.body


def test_a_part_of_another_edition_is_fetched_anew(server, folder):
    folder.mkdir()
    (folder / "1150haber.tar.gz.part").write_bytes(OTHER[:5000])
    assert get(server, folder).read_bytes() == GOOD
    assert server.requests == ["bytes=5000-", None]


@pytest.mark.parametrize("part", [GOOD, GOOD + b"and more"])
def test_a_part_with_all_bytes_or_more(server, folder, part):
    folder.mkdir()
    (folder / "1150haber.tar.gz.part").write_bytes(part)
    assert get(server, folder).exists()
    assert left(folder) == ["1150haber.tar.gz"]


def test_not_found_is_final(server, folder):
    server.behave = "missing"
    with pytest.raises(BadData, match=r"answered 404 .*nothing was kept"):
        get(server, folder)
    assert len(server.requests) == 1
    assert left(folder) == []


def test_a_busy_server_is_asked_again(server, folder):
    server.behave = "busy_once"
    assert get(server, folder).read_bytes() == GOOD


@pytest.mark.parametrize(
    ("behave", "match"),
    [
        ("trickle", "slower than 2000 bytes a second"),
        ("astray", "wrong position"),
        ("chunked_drop", "broke"),
        ("to_disk", "could not be fetched"),
    ],
)
@pytest.mark.slow
def test_bad_servers_are_given_up(server, folder, behave, match):
    server.behave = behave
    with pytest.raises(BadData, match=match):
        get(server, folder, patience=dataclasses.replace(PATIENT, slowest=2000.0, window=0.3))
    assert "1150haber.tar.gz" not in left(folder)


@pytest.mark.slow
def test_a_silent_server_is_given_up(server, folder):
    server.behave = "silent"
    with pytest.raises(BadData, match="TimeoutError"):  # and not that the connection broke, as it does after a while
        get(server, folder, patience=dataclasses.replace(PATIENT, timeout=0.2, attempts=2))


def test_an_endless_body_is_cut_off(server, folder, monkeypatch):
    monkeypatch.setattr(fetching, "LARGEST", 1 << 20)
    server.behave = "endless"
    with pytest.raises(BadData, match="longer than any collection"):
        get(server, folder)


def test_a_resumed_answer_that_starts_elsewhere_is_refused(server, folder):
    folder.mkdir()
    (folder / "1150haber.tar.gz.part").write_bytes(GOOD[:5000])
    server.behave = "astray"
    with pytest.raises(BadData, match="wrong position"):
        get(server, folder)
    assert (folder / "1150haber.tar.gz.part").read_bytes() == GOOD[:5000]


def test_nobody_listens(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(BadData, match="no connection"):
        fetch("1150haber", folder, url=f"http://127.0.0.1:{port}/x", patience=PATIENT)
    assert left(folder) == []


def test_an_unknown_server_is_not_asked_again(folder, monkeypatch):
    asked = []

    def nowhere(url, *_):
        asked.append(url)
        raise urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))

    monkeypatch.setattr(fetching, "open_url", nowhere)
    with pytest.raises(BadData, match="no server of that name was found; check the address and the network"):
        fetching.fetch("webkb4", folder, url="http://nowhere.example/x.tar.gz")
    assert len(asked) == 1


def test_the_second_address_serves_when_the_first_does_not(server, folder, small, monkeypatch):
    bad = Server()
    bad.body = b"parked"
    threading.Thread(target=bad.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    monkeypatch.setitem(
        known_collections.COLLECTIONS, "1150haber", dataclasses.replace(small, urls=(bad.url, server.url))
    )
    assert fetch("1150haber", folder, patience=PATIENT).read_bytes() == GOOD
    bad.shutdown()
    bad.server_close()


def test_no_address_and_foreign_schemes(folder):
    with pytest.raises(BadData, match="there is no known download address of '1150haber'"):
        fetch("1150haber", folder)
    for url in ("file:///etc/passwd", "ftp://x/y", "x.tar.gz"):
        with pytest.raises(BadData, match="neither http nor https"):
            fetch("1150haber", folder, url=url)


def test_where_it_goes(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNNAIVE_DATA", raising=False)
    assert get(server, None) == tmp_path / "cache" / "unnaive" / "1150haber.tar.gz"
    monkeypatch.setenv("UNNAIVE_DATA", str(tmp_path / "named"))
    assert get(server, None) == tmp_path / "named" / "1150haber.tar.gz"
    (tmp_path / "file").write_text("")
    with pytest.raises(BadData, match="cannot be created"):
        get(server, tmp_path / "file" / "below")


@pytest.mark.parametrize("url", ["http://[::1", "http://[::1]:x/", "http://"])
def test_a_malformed_address_is_a_sentence(tmp_path, url):
    with pytest.raises(BadData, match=r"the address .* is (malformed|neither http)"):
        fetch("webkb4", tmp_path, url=url)
