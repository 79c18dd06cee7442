"""Signing what webhooks are sent, as the Standard Webhooks specification (1.0) has it.

What is signed is "ID.TIMESTAMP.BODY", with HMAC-SHA256 and the bytes that follow "whsec_" in the
secret, in Base64.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

#: How secrets begin.
PREFIX = "whsec_"

#: Random bytes of a secret; the specification asks for 24 to 64.
_BYTES = 32


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(secret: str, message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that say who sent a body, and when.

    message : its id, the same whenever it is sent; timestamp : of this attempt, seconds
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
