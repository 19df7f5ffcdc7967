"""Clients behind a reverse proxy: their address and scheme, as far as a trusted proxy reports them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from unnaive.base.errors import UnnaiveError

UNIX = "unix"  # the peer at the other end of a Unix socket
FORWARDED_FOR, FORWARDED_PROTO = b"x-forwarded-for", b"x-forwarded-proto"

HeaderFields = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Proxies:
    """The proxies whose headers X-Forwarded-For and X-Forwarded-Proto are believed; by default none."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    unix: bool = False

    @classmethod
    def of(cls, words: Iterable[str]) -> Proxies:
        """Proxies from addresses, networks, or `unix`.

        >>> Proxies.of(["10.0.0.0/8", "unix"]).trusts("10.1.2.3"), Proxies().trusts("127.0.0.1")
        (True, False)
        """
        words = list(words)
        return cls(tuple(_read_network(word) for word in words if word != UNIX), UNIX in words)

    def __bool__(self) -> bool:
        return self.unix or bool(self.networks)

    def trusts(self, address: str) -> bool:
        """Whether the headers of this peer are believed; a Unix socket has the empty address."""
        if not address:
            return self.unix
        peer = _read_address(address)
        return peer is not None and any(peer in network for network in self.networks)

    def client(self, peer: str, fields: HeaderFields) -> str:
        """The address of the client: the last one in X-Forwarded-For that is not a trusted proxy.

        Each proxy appends the address that it sees, so what a client writes there itself is further left.

        >>> fields = [(b"x-forwarded-for", b"6.6.6.6, 192.0.2.7, 10.0.0.9")]
        >>> Proxies.of(["10.0.0.0/8"]).client("10.0.0.1", fields), Proxies().client("10.0.0.1", fields)
        ('192.0.2.7', '10.0.0.1')
        """
        client = peer
        for hop in reversed(_hops(fields)):
            if not self.trusts(client):
                break
            address = _read_address(hop)
            if address is None:
                break
            client = str(address)
        return client

    def scheme(self, peer: str, fields: HeaderFields) -> str | None:
        """The scheme by which the client reached a trusted proxy; None if it is unknown."""
        given = [value for name, value in fields if name == FORWARDED_PROTO]
        scheme = given[-1].decode("latin-1").strip().lower() if given and self.trusts(peer) else ""
        return scheme if scheme in ("http", "https") else None


def _hops(fields: HeaderFields) -> list[str]:
    values = b",".join(value for name, value in fields if name == FORWARDED_FOR).decode("latin-1")
    return [hop.strip() for hop in values.split(",") if hop.strip()]


def _read_address(words: str) -> IPv4Address | IPv6Address | None:
    """An address, perhaps in brackets and with a port; an IPv4 address that is written as IPv6 is IPv4.

    >>> [str(_read_address(words)) for words in ("192.0.2.7:80", "[2001:db8::1]:80", "::ffff:192.0.2.7", "me")]
    ['192.0.2.7', '2001:db8::1', '192.0.2.7', 'None']
    """
    if words.startswith("["):
        words = words[1:].partition("]")[0]
    elif words.count(":") == 1:
        words = words.partition(":")[0]
    try:
        address = ip_address(words)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _read_network(words: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(words)
    except ValueError as problem:
        raise UnnaiveError(
            f"--trusted-proxy {words!r} is not an address ({problem}); give one, a network such as 10.0.0.0/8, or unix"
        ) from problem
