"""Limits on an answer of a server, in bytes, seconds and redirects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits on the answers of the Hub and of its storage hosts.

    A useful server that follows HTTP stays far below each limit. Large files have a minimum rate
    instead of a deadline, since they may take hours over a slow connection.

    Attributes
    ----------
    head_s
        Seconds from a request to the end of its answer's headers.
    head_bytes
        Bytes until then, including any number of interim answers (1xx).
    headers, header_bytes
        Number of an answer's headers, and their total bytes. The Hub sends 30, in 4 kB.
    redirects
        The Hub redirects twice, once for a renamed model and once to a storage host.
    address_length
        Characters of a redirect's address. Signed ones have up to 2,000.
    answer_s, answer_bytes
        Limits of a JSON answer's body: 16 MB list about 60,000 files.
    unread_s, unread_bytes
        Limits of the body of a redirect or an error, which is read only so that the connection can
        be reused.
    window_s, min_rate
        Minimum bytes per second of a file's body, over each window. 4 kB/s is a tenth of the rate
        of the slowest mobile networks.
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
    min_rate: float = 4_000.0
