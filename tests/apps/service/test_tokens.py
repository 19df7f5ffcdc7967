"""Several tokens: hashed in a file, each with a scope; rotated without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from unnaive.apps.cli.main import exit_code
from unnaive.apps.common.web.tokens import Token, Tokens, TokenScope, main, read_tokens
from unnaive.apps.service.app import create_app
from unnaive.base.errors import UnnaiveError

from .conftest import options

WORDS = {scope: f"the token that may {scope.word}" for scope in TokenScope}
LINES = [Token.of(words, f"{scope.word}er", scope).line() for scope, words in WORDS.items()]
OWN = {"Origin": "http://testserver"}


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with a token of each scope."""
    path = tmp_path / "tokens"
    path.write_text("# whose it is, and what it may do\n" + "\n".join(LINES) + "\n")
    return path


def bearer(scope: TokenScope) -> dict[str, str]:
    return {"Authorization": f"Bearer {WORDS[scope]}"}


def test_each_scope_includes_those_before_it(model_file: Path, token_file: Path) -> None:
    requests = {
        TokenScope.PREDICT: ("/v1/classify", {"text": "invoice"}),
        TokenScope.TEACH: ("/v1/models/tickets/teach", {"documents": [{"text": "frobnicator", "label": "bug"}]}),
        TokenScope.ADMIN: ("/v1/models/tickets/rollback", {"version": 0}),
    }
    with TestClient(create_app(options(model_file, token="", token_file=str(token_file), token_always=True))) as client:
        for needed, (path, body) in requests.items():
            for scope in TokenScope:
                answer = client.post(path, json=body, headers=bearer(scope))
                assert answer.status_code == (200 if scope >= needed else 403)
                if scope < needed:
                    assert f"the token of {scope.word}er has the scope {scope.word}" in answer.json()["error"]
                    assert f"needs one with the scope {needed.word}" in answer.json()["error"]
        versions = "/v1/models/tickets/versions?documents=true"
        assert [client.get(versions, headers=bearer(scope)).status_code for scope in TokenScope] == [403, 200, 200]
        assert client.post("/v1/classify", json={"text": "a"}, headers={"Authorization": "Bearer x"}).status_code == 401


def test_a_session_may_do_what_its_token_may_and_ends_with_it(model_file: Path, token_file: Path) -> None:
    served = create_app(
        options(model_file, token="", token_file=str(token_file), token_always=True, session_secret="x" * 64)
    )
    tokens = served.access.tokens
    with TestClient(served) as client:
        assert client.post("/session", headers=bearer(TokenScope.PREDICT) | OWN).status_code == 200
        assert client.post("/v1/classify", json={"text": "invoice"}, headers=OWN).status_code == 200
        assert client.post("/v1/models/tickets/undo", json={"event": 1}, headers=OWN).status_code == 403
        token_file.write_text(LINES[1] + "\n")
        tokens.reload()
        assert client.get("/v1/models").status_code == 401
        assert client.get("/v1/models", headers=bearer(TokenScope.TEACH)).status_code == 200
        token_file.write_text("nonsense of a line\n")
        with pytest.raises(UnnaiveError, match="line 1 of"):
            tokens.reload()
        assert client.get("/v1/models", headers=bearer(TokenScope.TEACH)).status_code == 200  # as before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("short", "has 5 characters"),
        ("# nobody\n", "has no token"),
        ("anna teach sha256:12\n", "line 1 of .* is not NAME SCOPE sha256:"),
        (LINES[0].replace("predict ", "predcit "), "no scope called 'predcit'; .* did you mean 'predict'"),
        (f"{LINES[0]}\n{LINES[1].replace('teacher', 'predicter')}", "two lines with the name of 'predicter'"),
        (f"{LINES[0]}\n{LINES[0].replace('predicter', 'other')}", "two lines with the sha256 of 'predicter'"),
    ],
)
def test_mistakes_in_the_file_of_tokens(tmp_path: Path, model_file: Path, words: str, sentence: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(words)
    with pytest.raises(UnnaiveError, match=sentence):
        read_tokens(path)
    assert exit_code(["serve", str(model_file), "--token-file", str(path)]) == 2


def test_a_new_token_and_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["anna", "teach"])
    shown = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    path = tmp_path / "tokens"
    path.write_text(shown["line"].strip())
    token = Tokens(file=path).find(shown["token"].strip().encode())
    assert token is not None
    assert (token.name, token.scope) == ("anna", TokenScope.TEACH)
    assert shown["token"].strip() not in path.read_text()
    for wrong in (["anna"], ["anna", "all"], ["an na", "teach"]):
        with pytest.raises(SystemExit, match="give a name without spaces, and a scope: predict, teach, admin"):
            main(wrong)
