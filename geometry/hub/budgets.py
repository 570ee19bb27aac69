"""What an answer of a server may cost, in bytes, seconds and redirects, whatever it sends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bounds on the answers of the Hub and of its storage hosts.

    A server that keeps to HTTP and is of any use stays far below each. Large files have no deadline
    but a least rate, for they may take hours over a slow line.

    Attributes
    ----------
    head_s
        Seconds from a request to the end of its answer's headers.
    head_bytes
        Bytes until then, with the interim answers (1xx) before it, of which any number may come.
    headers, header_bytes
        Number of an answer's headers, and their bytes together. The Hub sends 30, in 4 kB.
    redirects
        The Hub redirects twice, once for a renamed model and once to a storage host.
    address_length
        Characters of an address that a server redirects to. Signed ones have up to 2,000.
    answer_s, answer_bytes
        A JSON answer's body: 16 MB list some 60,000 files.
    unread_s, unread_bytes
        The body of a redirect or an error, which is of no interest: read only so that the
        connection can be used again.
    window_s, least_rate
        A file's body has to come with this many bytes per second, over each window. 4 kB/s is a
        tenth of what the slowest mobile networks give.
    """

    head_s: float = 30.0
    head_bytes: int = 262_144
    headers: int = 200
    header_bytes: int = 65_536
    redirects: int = 10
    address_length: int = 8_192
    answer_s: float = 120.0
    answer_bytes: int = 16_000_000
    unread_s: float = 2.0
    unread_bytes: int = 65_536
    window_s: float = 30.0
    least_rate: float = 4_000.0
