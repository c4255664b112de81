"""The server of the studio without a browser: what it refuses, what it keeps, and that it uses the public API."""

from __future__ import annotations

import json
import signal
import socket
import stat

import pandas as pd
import pytest

import dagopt

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.studio.asking import code_of, learn_options
from dagopt.studio.remedies import remedies_for
from dagopt.studio.session import CHOICES, Session, checked_choices, checked_knowledge
from studio_server import Server


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "asia.csv"
    data = dagopt.datasets.load("asia", n_samples=800, random_state=1).data
    data[["smoke", "lung", "bronc", "dysp", "xray"]].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def server(table, tmp_path_factory):
    with Server(table, tmp_path_factory.mktemp("session") / "one") as running:
        running.state(lambda state: state["table"]["columns"])
        yield running


OWN = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("what", "method", "path", "headers", "status"),
    [
        ("no token", "GET", "/", {}, 404),
        ("a wrong token", "GET", "/x{token}/state", {}, 404),
        ("part of the token", "GET", "/{half}/state", {}, 404),
        ("the token elsewhere", "GET", "/state?token={token}", {}, 404),
        ("a name that points here (DNS rebinding)", "GET", "/{token}/state", {"Host": "evil.example:{port}"}, 421),
        ("another port in Host", "GET", "/{token}/state", {"Host": "127.0.0.1:1"}, 421),
        ("no port in Host", "GET", "/{token}/state", {"Host": "127.0.0.1"}, 421),
        ("another site's page writes", "POST", "/{token}/learn", {"Origin": "http://evil.example", **OWN}, 403),
        ("a sandboxed page writes", "POST", "/{token}/learn", {"Origin": "null", **OWN}, 403),
        ("nobody's page writes", "POST", "/{token}/learn", OWN, 403),
        ("another site's page reads", "GET", "/{token}/state", {"Origin": "http://evil.example"}, 403),
        ("a link from another site", "GET", "/{token}/", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("a form of another port", "POST", "/{token}/stop", {"Origin": "http://127.0.0.1:1", **OWN}, 403),
        ("a form's kind of content", "POST", "/{token}/stop", {"Origin": "own", "Content-Type": "text/plain"}, 400),
        ("a file outside", "GET", "/{token}/../../etc/passwd", {}, 404),
        ("a file outside, encoded", "GET", "/{token}/%2e%2e%2f%2e%2e%2fetc%2fpasswd", {}, 404),
        ("the session file", "GET", "/{token}/session.json", {}, 404),
        ("a run that is not there", "GET", "/{token}/runs/999/view", {}, 400),
        ("a run with a negative number", "GET", "/{token}/runs/-1/view", {}, 404),
        ("a method that is not there", "DELETE", "/{token}/learn", {"Origin": "own"}, 405),
        ("a body that is too long", "POST", "/{token}/choices", {"Origin": "own", "Content-Length": "99999999"}, 413),
        ("a run with 5,000 digits", "GET", "/{token}/runs/{long}/view", {}, 414),
        ("a version with 5,000 digits", "GET", "/{token}/state?after={long}", {}, 200),
        ("a version that is a superscript", "GET", "/{token}/state?after=%C2%B2", {}, 200),
        ("a length that is no number", "POST", "/{token}/choices", {"Origin": "own", "Content-Length": "-5"}, 400),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_attacks_are_refused(server, what, method, path, headers, status):
    """Only this machine's own page, with the token, is answered."""
    words = {"token": server.token, "half": server.token[:12], "port": server.port, "long": "9" * 5000}
    told = {
        name: f"http://{server.host}" if value == "own" else value.format(**words) for name, value in headers.items()
    }
    body = None if method == "GET" or "Content-Length" in headers else "{}"
    found, _, said = server.raw(method, path.format(**words), body, told)
    assert found == status
    assert server.token.encode() not in said


def test_it_listens_on_this_machine_only(server):
    """A connection to another address of this machine is not accepted."""
    for other in {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not other.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((other, server.port), timeout=2).close()


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("choices", {"colour": 1}),
        ("choices", {"time_limit": -1}),
        ("choices", {"time_limit": "long"}),
        ("choices", {"exclude": "smoke"}),
        ("choices", {"kind": {"smoke": 3}}),
        ("choices", {"max_parents": 1.5}),
        ("choices", {"max_parents": 10**400}),
        ("choices", {"time_limit": float("nan")}),
        ("choices", {"exclude": ["\ud800"]}),
        ("choices", {"score": "\ud800"}),
        ("knowledge", {"tiers": [["a", "\udfff"]]}),
        ("knowledge", {"required": [["a"]]}),
        ("knowledge", {"forbidden": "all"}),
        ("knowledge", {"max_parents": [1]}),
        ("learn", {"base": 77}),
        ("learn", {"base": "\ud800"}),
        ("runs/55/ask", {}),
    ],
)
def test_bad_values_are_refused_in_words(server, path, given):
    """A value of the wrong kind changes nothing, and the answer says what was expected."""
    before = server.state()
    status, said = server.ask("POST", path, given)
    assert status == 400
    assert said["error"]
    after = server.state()
    assert (after["choices"], after["knowledge"]) == (before["choices"], before["knowledge"])


def test_broken_json_and_long_nests_are_refused(server):
    """They are no reason to fail."""
    headers = {"Origin": f"http://{server.host}", "Content-Type": "application/json"}
    for body in (b"{", b"[]", b"\xff\xfe", b"[" * 100_000):
        status, _, _ = server.raw("POST", f"/{server.token}/choices", body, headers)
        assert status == 400


def test_the_policies_of_the_pages(server):
    """No inline script on the page; frames are sandboxed even if they are opened on their own."""
    _, headers, page = server.raw("GET", f"/{server.token}/")
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert b"<script>" not in page
    assert b"onclick" not in page


def test_learn_forbid_ask_and_export(server, table):
    """The answers are those of the library, the cost of a forbidden edge is exact, exports can be read back."""
    number = server.ask("POST", "learn", {})[1]["run"]
    run = server.learned(1)["runs"][-1]
    expected = dagopt.learn(table, progress=False)
    assert run["number"] == number
    assert run["status"] == "optimal"
    assert run["score"] == pytest.approx(expected.score)
    edge = run["edges"][0]
    server.ask("POST", "knowledge", {"forbidden": [edge, edge[::-1]]})
    server.ask("POST", "learn", {"base": number})
    other = server.learned(2)["runs"][-1]
    without = dagopt.learn(table, constraints={"forbidden": [tuple(edge), tuple(edge[::-1])]}, progress=False)
    assert other["score"] == pytest.approx(without.score)
    assert edge not in other["edges"]
    assert other["base"] == number
    found = server.ask("GET", f"runs/{number}/against/{other['number']}")[1]
    assert found["first"]
    one, two = found["pictures"]
    assert one.count('class="edge own"') == len(found["first"])
    assert two.count('class="edge own"') == len(found["second"])
    told = server.ask("POST", f"runs/{number}/ask", {"evidence": {"smoke": "yes"}})[1]["columns"]
    fitted = expected.fit(equivalent_sample_size=1.0)
    answer = fitted.query("lung", {"smoke": "yes"})
    shown = next(one for one in told if one["name"] == "lung")
    assert dict(zip(shown["levels"], shown["shares"], strict=True)) == pytest.approx(dict(answer))
    effect = server.ask("POST", f"runs/{number}/effect", {"cause": "smoke", "outcome": "lung"})[1]
    for found, row in zip(effect["ranges"], expected.effect("smoke", "lung").ranges.to_dict("records"), strict=True):
        assert found == pytest.approx(row)
    _, headers, report = server.raw("GET", f"/{server.token}/runs/{number}/report.html")
    assert "attachment" in headers["content-disposition"]
    assert b"Proven" in report
    _, headers, view = server.raw("GET", f"/{server.token}/runs/{number}/view")
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert b"The edges" in view
    for format in ("dot", "csv", "graphml", "json", "bnlearn", "bif"):
        status, _, text = server.raw("GET", f"/{server.token}/runs/{number}/graph.{format}")
        assert status == 200
        assert b"smoke" in text
    assert server.raw("GET", f"/{server.token}/runs/{number}/graph.exe")[0] == 400
    _, _, toml = server.raw("GET", f"/{server.token}/knowledge.toml")
    path = table.with_name("known.toml")
    path.write_bytes(toml)
    assert Constraints.read(path).forbidden == (tuple(edge), tuple(edge[::-1]))
    code = server.raw("GET", f"/{server.token}/runs/{other['number']}/repeat.py")[2].decode()
    scope = {}
    exec(compile(code.split("print(")[0], "repeat.py", "exec"), scope)
    assert scope["result"].score == pytest.approx(other["score"])
    server.ask("POST", f"runs/{other['number']}/forget", {})
    assert [one["number"] for one in server.state()["runs"]] == [number]


def test_a_killed_server_loses_nothing(table, tmp_path):
    """After SIGKILL the same command has the choices, the knowledge and the runs; the folder is private."""
    folder = tmp_path / "kept"
    first = Server(table, folder)
    try:
        first.ask("POST", "choices", {"time_limit": 7})
        first.ask("POST", "knowledge", {"required": [["smoke", "lung"]]})
        first.ask("POST", "learn", {})
        run = first.learned(1)["runs"][0]
    finally:
        first.end(signal.SIGKILL)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with Server(table, folder) as second:
        state = second.state()
        assert second.token != first.token
        assert state["choices"]["time_limit"] == 7
        assert state["knowledge"]["required"] == [["smoke", "lung"]]
        assert state["runs"] == [run]
        assert b"The edges" in second.raw("GET", f"/{second.token}/runs/1/view")[2]


def test_an_upload_is_limited_to_tables_and_kept_in_the_folder(tmp_path):
    """The name of an upload is not a path, and other kinds of files are refused."""
    with Server(None, tmp_path / "session") as server:
        headers = {"Origin": f"http://{server.host}"}
        body = pd.DataFrame({"a": range(20), "b": range(20)}).to_csv(index=False).encode()
        path = f"/{server.token}/data?name="
        assert server.raw("POST", path + "x.exe", body, headers)[0] == 400
        assert server.raw("POST", path + "x.csv", b"", headers)[0] == 400
        assert server.raw("POST", path + "../../evil.csv", body, headers)[0] == 200
        assert server.state()["data"] == "data.csv"
        long = {**headers, "Content-Length": str(10**12)}
        assert server.raw("POST", path + "x.csv", None, long)[0] == 413
    assert sorted(path.name for path in (tmp_path / "session").iterdir()) == ["data.csv", "session.json"]
    assert [one.name for one in tmp_path.iterdir()] == ["session"]


def test_every_change_of_a_session_file_is_read_or_refused_in_a_sentence(table, tmp_path):
    """No traceback, whatever one value of the file becomes."""
    session = Session.open(tmp_path / "one", table)
    session.runs = [{"number": 1, "base": None, "status": "optimal", "choices": {}, "knowledge": {}, "edges": []}]
    session.run_file(1).write_text("{}")
    session.save()
    path = tmp_path / "one" / "session.json"
    told, refused = json.loads(path.read_text()), 0
    places = [(key,) for key in told] + [("runs", 0), *(("runs", 0, key) for key in told["runs"][0])]
    places += [(part, key) for part in ("choices", "knowledge") for key in told[part]]
    for place in places:
        for value in (None, True, -1, 1.5, 10**30, "x", "\ud800", [], [[]], ["a"], [["a"]], {}, {"a": []}, "gone"):
            changed = json.loads(json.dumps(told))
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            if value == "gone":
                del holder[place[-1]]
            path.write_text(json.dumps(changed))
            try:
                Session.open(tmp_path / "one", None).save()
            except InputError as error:
                said = str(error)
                assert "\n" not in said
                assert str(path) in said
                refused += 1
    assert refused > 100


def test_a_session_of_another_table_is_refused(table, tmp_path):
    """A folder belongs to one table; a broken session names the file."""
    Session.open(tmp_path / "one", table)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="is about"):
        Session.open(tmp_path / "one", other)
    (tmp_path / "one" / "session.json").write_text("{")
    with pytest.raises(InputError, match="expected JSON but"):
        Session.open(tmp_path / "one", table)
    (tmp_path / "one" / "session.json").write_text("{}")
    with pytest.raises(InputError, match="expected the key"):
        Session.open(tmp_path / "one", table)


def test_remedies_are_choices_that_the_library_takes():
    """Each button changes choices that are allowed."""
    for code in ("identifier", "duplicate", "skewed", "counts", "few-values", "missing"):
        for remedy in remedies_for(code, ["a", "b"]):
            assert checked_choices(remedy["adds"])
    assert remedies_for("duplicate", ["a", "b"])[0]["adds"] == {"exclude": ["b"]}
    assert remedies_for("chance-edges", ["a"]) == []


def test_choices_become_options_of_learn():
    """Empty choices are left out; the code is Python."""
    known = checked_knowledge({"required": [["a", "b"]], "forbidden": [], "tiers": [["a"], ["b"]]})
    options = learn_options(CHOICES | {"exclude": ["c"]}, known)
    assert options == {
        "method": "auto",
        "exclude": ["c"],
        "score": "auto",
        "constraints": {"required": [("a", "b")], "tiers": [["a"], ["b"]]},
        "time_limit": 30.0,
    }
    compile(code_of("it's.csv", CHOICES, known), "x.py", "exec")
    assert json.loads(json.dumps(CHOICES)) == CHOICES
