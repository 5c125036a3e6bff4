"""A network namespace for the tests, with loopback only.

The test cluster has addresses for services, pods and nodes that must never be dialled. In a network
namespace without routes, a mistake is an immediate error instead of a packet on the wire.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct

# In 240.0.0.0/4, which is reserved (RFC 1112) and not used by any network that runs tests.
SERVICES, PODS, NODE_ADDRESS = "240.1.0.0/16", "240.2.0.0/15", "240.4.0.1"
_FORBIDDEN = ("240.1.0.1", "240.2.0.1", NODE_ADDRESS)
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET of sched.h
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


def isolate() -> bool:
    """Move this thread and its future children into a network namespace with loopback only.

    Returns:
        Whether the addresses of the test cluster are unreachable now.
    """
    if not has_route():
        return True
    owner = os.geteuid(), os.getegid()
    with contextlib.suppress(OSError):
        if owner[0] == 0:
            _unshare(_NEW_NETWORK)
        else:  # only in a process of one thread
            _unshare(_NEW_USER | _NEW_NETWORK)
            _map_user(*owner)
        _raise_loopback()
    return not has_route()


def has_route() -> bool:
    """Return whether there is a route to addresses of the test cluster; no packet is sent."""
    return any(_is_routed(address) for address in _FORBIDDEN)


def _is_routed(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # a datagram socket only looks up the route
        except OSError:
            return False
    return True


def _unshare(flags: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _map_user(user: int, group: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as target:  # noqa: PTH123 - proc
            target.write(text)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(control, _GET_FLAGS, request)
        flags = struct.unpack("16sh14x", answer)[1] | _UP
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags))
