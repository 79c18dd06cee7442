"""Which IP addresses are public, so that messages may be sent there.

An IPv6 address may contain an IPv4 address, to which a network that translates delivers: NAT64
turns 64:ff9b::7f00:1 into 127.0.0.1. So only known addresses count as public: global IPv4
addresses, and IPv6 addresses in the global unicast range that contain no IPv4 address.
"""

from __future__ import annotations

import ipaddress

#: Global unicast (RFC 4291). Outside of it are, among others, ::/96, ::ffff:0:0:0/96 and NAT64
#: (64:ff9b::/96, RFC 6052, and 64:ff9b:1::/48, RFC 8215), which contain IPv4 addresses, and
#: fec0::/10.
_GLOBAL = ipaddress.IPv6Network("2000::/3")
#: In that range, but not public: 6to4 and Teredo, which contain IPv4 addresses, and
#: addresses for documentation (RFC 9637), which not every version of Python knows.
_REFUSED = (
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("2001::/32"),
    ipaddress.IPv6Network("3fff::/20"),
)
#: Global, but not hosts of the internet: relays of 6to4 (RFC 7526), and protocols of the network
#: itself (RFC 6890), of which Python counts 192.0.0.9 and 192.0.0.10 as global.
_REFUSED_4 = (ipaddress.IPv4Network("192.88.99.0/24"), ipaddress.IPv4Network("192.0.0.0/24"))
#: Second half of an address of ISATAP without its last 32 bits, which are an address of IPv4.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: str) -> bool:
    """Return whether an IP address is public. Raises : ValueError if it is no address."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return _is_public_6(found)
        found = found.ipv4_mapped
    refused = any(found in network for network in _REFUSED_4)
    return found.is_global and not found.is_multicast and not refused


def _is_public_6(address: ipaddress.IPv6Address) -> bool:
    if address.scope_id is not None or (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    inside = address in _GLOBAL and not any(address in network for network in _REFUSED)
    return inside and address.is_global
