"""Tokens stand for users, and stay secret."""

from __future__ import annotations

import pytest

from kontend.cluster.users import ADMIN
from kontend.serve.credentials.identity import BadToken, Tokens, UsersByToken


def test_without_tokens_everyone_is_the_admin() -> None:
    """Any token will do."""
    assert Tokens().user_of("Bearer anything") == Tokens().user_of("") == ADMIN


@pytest.mark.parametrize("text", ["s3cret", "=s3cret", "s3cret=", "", "ann=s3 cret", "ann=s3\ncret", "ann=s\u00e9cret"])
def test_a_malformed_token_is_refused_without_being_shown(text: str) -> None:
    """It may be a secret that lacks its name."""
    with pytest.raises(BadToken) as refused:
        Tokens.parse([text])
    assert "cret" not in str(refused.value).replace("ann=s3cret", "").replace("name=secret", "").replace(
        "the secret of", ""
    )


def test_names_and_secrets_must_be_one_to_one() -> None:
    """Else it is not known who asks."""
    for texts in (["a=1", "a=2"], ["a=1", "b=1"]):
        with pytest.raises(BadToken):
            Tokens.parse(texts)


def test_tokens_are_looked_up_by_a_keyed_hash() -> None:
    """Comparing the texts would take longer the more of a guess is right."""
    users = UsersByToken({"s3cret": ADMIN})
    assert users.get("s3cret") == ADMIN
    assert [users.get(guess) for guess in ("", "s3cre", "s3crets", "\udc80")] == [None] * 4
    assert all(b"s3cret" not in key for key in users._users)
    assert users._users.keys() != UsersByToken({"s3cret": ADMIN})._users.keys()
