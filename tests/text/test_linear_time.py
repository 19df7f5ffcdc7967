"""What takes linear time, on input made to take longer; each in a process that is ended after a minute."""

import pytest
from support.apart import run_apart

from unnaive.text.mail import _find_excess
from unnaive.text.messages import header_fields, is_message

# cells of 16 bytes with one std::hash of libstdc++: MurmurHash2 with a known seed, whose every step has an inverse
COLLIDING = """
import numpy as np
from unnaive.base import _rows

n, full, factor = 150_000, 2**64 - 1, 0xC6A4A7935BD1E995
inverse = pow(factor, -1, 2**64)
cells = []
for first in range(n):
    mixed = first * factor & full
    state = ((0xC70F6907 ^ 16 * factor) ^ (mixed ^ mixed >> 47) * factor) * factor & full
    wanted = (12345 ^ state) * inverse & full
    cells.append(first.to_bytes(8, "little") + ((wanted ^ wanted >> 47) * inverse & full).to_bytes(8, "little"))
codes, firsts = _rows.cell_codes(np.frombuffer(b"".join(cells), np.uint8), np.arange(n + 1) * 16)
assert codes.tolist() == firsts.tolist() == list(range(n))
"""
CHAIN = """
from unnaive.linear.network import Network

half, table = np.array([0.5, 0.5]), np.full((2, 2), 0.5)
n = 4_000
parents = tuple((node + 1,) if node + 1 < n else () for node in range(n))
network = Network(tuple(f"n{node}" for node in range(n)), parents, (*[table] * (n - 1), half))
assert network.order() == list(range(n))[::-1]
"""
LOCKS = """
import os
from unnaive.base.locks import _LOCKS, fork_safe_lock

before = len(_LOCKS)
locks = [fork_safe_lock() for _ in range(100_000)]
child = os.fork()
if child == 0:
    with locks[-1]:
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
del locks
assert len(_LOCKS) <= before + 1
"""


@pytest.mark.slow
def test_cells_that_are_made_to_collide_are_numbered_in_linear_time():
    pytest.importorskip("unnaive.base._rows")
    run_apart(COLLIDING)


def test_a_long_chain_of_a_network_is_ordered_in_linear_time():
    run_apart("import numpy as np\n" + CHAIN)


@pytest.mark.slow
def test_many_locks_are_made_and_forked_in_linear_time():
    run_apart(LOCKS)


MAILS = """
from unnaive.text.mail import _find_excess
from unnaive.text.messages import header_fields, is_message

for _ in range(20):
    mail = "Subject: a\\nFrom:" + " " * 60_000 + "\\rx\\n\\nbody"
    assert not is_message(mail)
    assert header_fields(mail) == {"subject": "a"}
    for line in ("charset*", "charset*\\n ", "Content-Type: " + "charset*" * 500 + "\\n"):
        found = _find_excess("Content-Type: text/plain\\n " + line * (1_000_000 // len(line)))
        assert found != "a charset for host names"
"""


@pytest.mark.slow
def test_headers_of_spaces_and_charsets_are_read_in_linear_time():
    run_apart(MAILS)


@pytest.mark.parametrize(
    ("mail", "fields"),
    [
        ("A: b\n c\n\nbody", {"a": "b c"}),
        ("A: b\r\n\tc\r\nD:\r\n\r\n", {"a": "b c", "d": ""}),
        ("A: b\n c\rd\n\n", {"a": "b"}),  # a carriage return alone ends what can be read
        ("A: b\rc\n", {}),
        ("A:\n \n b", {"a": "b"}),
        ("A b: c", {}),
    ],
)
def test_fields_of_a_header_by_hand(mail, fields):
    assert header_fields(mail) == fields
    assert not is_message(mail)


@pytest.mark.parametrize(
    ("field", "excess"),
    [
        ('text/plain; CHARSET*="Idna"', True),
        ("text/plain;\n charset=x-punycode", True),
        ("text/plain; charset=utf-8; name=idna", False),
        ("text/plain; charset\n idna", False),
        ("text/plain; charsetcharset=idna", True),
    ],
)
def test_charsets_of_host_names_by_hand(field, excess):
    assert (_find_excess(f"Content-Type: {field}\n\nbody") == "a charset for host names") == excess
