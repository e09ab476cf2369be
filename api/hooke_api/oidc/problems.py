"""Why nobody was signed in: codes for the address of a page, and sentences for who reads it."""

from __future__ import annotations

from enum import StrEnum

from hooke.errors import HookeError


class Problem(StrEnum):
    """Why a sign-in through the provider did not succeed."""

    OFF = "off"
    DENIED = "denied"
    STATE = "state"
    CODE = "code"
    CLIENT = "client"
    CLOCK = "clock"
    TOKEN = "token"  # noqa: S105 - the word, not a secret
    AWAY = "away"
    RULE = "rule"
    UNINVITED = "uninvited"
    DISABLED = "disabled"
    INVITATION = "invitation"
    TAKEN = "taken"
    SESSION = "session"
    BLOCKED = "blocked"
    FULL = "full"
    BUSY = "busy"


SENTENCES: dict[Problem, str] = {
    Problem.OFF: "This server has no sign-in through a provider: sign in with a password.",
    Problem.DENIED: "{name} did not sign you in: you declined, or may not. Try again, or use a password.",
    Problem.STATE: (
        "This answer of {name} does not belong to a sign-in of this browser: that began elsewhere, in another "
        "tab, or more than ten minutes ago, or has ended already. Begin again here."
    ),
    Problem.CODE: "{name} does not accept its own answer: it was used before, or is too old. Begin again here.",
    Problem.CLIENT: (
        "{name} does not accept this server: an administrator has to compare client id, secret and redirect "
        "address on both sides. Sign in with a password until then."
    ),
    Problem.CLOCK: (
        "The clocks of {name} and of this server differ by more than a minute: tell an administrator. Sign in "
        "with a password until then."
    ),
    Problem.TOKEN: (
        "What {name} says of you could not be verified, so nobody was signed in: tell an administrator, the "
        "server's log says why. Sign in with a password until then."
    ),
    Problem.AWAY: ("{name} does not answer correctly: try again in a minute. Sign in with a password until then."),
    Problem.RULE: (
        "Your account at {name} may not sign in here: its e-mail domain or its groups are not admitted. Use "
        "another account, or ask an administrator."
    ),
    Problem.UNINVITED: (
        "No user here has your account at {name}. Open your invitation and accept it with {name}, or sign in with "
        "your password and link the account on the page Account."
    ),
    Problem.DISABLED: "This user is disabled: ask an administrator.",
    Problem.INVITATION: "The invitation has been used or has expired: ask an administrator for another one.",
    Problem.TAKEN: "This account at {name} belongs to another user here: choose another account at {name}.",
    Problem.SESSION: "Your session ended while the account was being linked: sign in, then link it again.",
    Problem.BLOCKED: (
        "Too many failed sign-ins from this address: try again in 15 minutes; the start-up token still signs in."
    ),
    Problem.FULL: "The maximum number of users or accounts is reached: ask an administrator.",
    Problem.BUSY: "The server could not store the sign-in: try again.",
}
"""Problem -> what is said to the person, with a way out; `{name}` is the provider's."""

COUNTED = frozenset(
    {
        *(Problem.STATE, Problem.CODE, Problem.TOKEN, Problem.RULE, Problem.UNINVITED),
        *(Problem.DISABLED, Problem.INVITATION, Problem.TAKEN),
    }
)
"""What counts as a failed sign-in of an address and stands in the audit trail: what the sender may have caused."""


class NotSignedIn(HookeError):
    """Nobody is signed in through the provider; `problem` is for the person, the message for the server's log."""

    def __init__(self, problem: Problem, why: str = "") -> None:
        self.problem = problem
        super().__init__(why or problem.value)


def sentence(problem: Problem, name: str) -> str:
    """Return what is said to the person."""
    return SENTENCES[problem].replace("{name}", name)
