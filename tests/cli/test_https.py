"""test_https.py - a server of https:// whose certificate is not verified gets no request, and so no token; --ca and the variables
of curl say which certificates are trusted."""

import os
import pathlib
import re
import subprocess
import time

import pytest

from authority import HERE, Authority
from program import PROGRAM, fails, make, ok, rows
from test_server import files, serving  # noqa: F401

# The machine may have an authority of its own, or a proxy.
CLEAN = {name: value for name, value in os.environ.items() if not re.search("CA_BUNDLE|SSL_CERT|proxy", name, re.I)}
TOKEN = {"env": {**CLEAN, "SQLITE_COUNTER_TOKEN": "token"}}
NOT_TRUSTED = "{url}: its certificate is not accepted: curl: \\({status}\\) .*{advice}"
ADVICE = ": --ca names a file of certificates to trust"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A CA that has signed nothing here."""
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def server(files, authority):  # noqa: F811
    with serving(authority.certify("server")) as made:
        yield made


def refuses(server, sentence, *options, **variables):
    """The sentence is a pattern; the server has seen no request, and nothing is left behind."""
    os.makedirs("tmp", exist_ok=True)
    fails(sentence, "sync", *options, "a.db", server.url, env={**TOKEN["env"], "TMPDIR": "tmp", **variables})
    assert server.seen == [] and os.listdir("tmp") == []


def is_not_trusted(server, *options, **variables):
    advice = "" if options else ADVICE
    refuses(server, NOT_TRUSTED.format(url=re.escape(server.url), status="(60|51)", advice=advice), *options, **variables)


def test_a_server_is_trusted_by_the_file_of_ca_or_by_that_which_curl_is_told(server, authority):
    for options, variables in ((["--ca", authority.ca], {}), ([f"--ca={authority.ca}"], {}), ([], {"CURL_CA_BUNDLE": str(authority.ca)}),
                               ([], {"SSL_CERT_FILE": str(authority.ca)})):
        server.seen.clear()
        ok("sync", *options, "a.db", server.url, env={**TOKEN["env"], **variables})
        assert [headers["Authorization"] for _, _, headers in server.seen] == ["Bearer token"] * len(server.seen) != []
    ok("sync", "--ca", authority.ca, "a.db", server.url.replace("127.0.0.1", "localhost"), **TOKEN)


def test_a_server_that_is_not_trusted_sees_no_request(server, authority, stranger):
    is_not_trusted(server)
    is_not_trusted(server, "--ca", stranger.ca)
    is_not_trusted(server, CURL_CA_BUNDLE=str(stranger.ca))


def test_the_file_of_ca_takes_the_place_of_what_the_machine_trusts(server, authority, stranger):
    is_not_trusted(server, "--ca", stranger.ca, CURL_CA_BUNDLE=str(authority.ca), SSL_CERT_FILE=str(authority.ca))


def test_a_certificate_of_another_host_is_refused(files, authority):  # noqa: F811
    for hosts in "DNS:sync.example", HERE.partition(", ")[2]:
        with serving(authority.certify("other", hosts)) as server:
            is_not_trusted(server, "--ca", authority.ca)


@pytest.mark.parametrize("text", ["", "\n", "-----BEGIN CERTIFICATE-----\nMIIB\n", "{key}", "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n"
                                  "-----END CERTIFICATE REQUEST-----\n", "-----END CERTIFICATE-----\n", "0\x82\x01\n", "token"])
def test_a_file_without_a_certificate_is_refused(server, authority, text):
    pathlib.Path("ca").write_text(text.format(key=authority.key.read_text()) if text == "{key}" else text)
    refuses(server, "ca: has no certificate in PEM, which -----BEGIN CERTIFICATE----- begins", "--ca", "ca")


def test_a_file_that_cannot_be_read_is_refused(server):
    refuses(server, "none.pem: cannot be read: No such file or directory", "--ca", "none.pem")
    refuses(server, "tmp: cannot be read: Is a directory", "--ca", "tmp")
    refuses(server, ": cannot be read: No such file or directory", "--ca", "")
    pathlib.Path("loop").symlink_to("loop")
    refuses(server, "loop: cannot be read: .*", "--ca", "loop")
    pathlib.Path("ca").write_text("-----BEGIN CERTIFICATE-----\nno certificate\n-----END CERTIFICATE-----\n")
    refuses(server, r"ca: its certificates cannot be read: curl: \(77\) .*", "--ca", "ca")


def test_the_file_is_asked_for_before_the_token(server):
    refuses(server, "none.pem: cannot be read: No such file or directory", "--ca", "none.pem", SQLITE_COUNTER_TOKEN="")


@pytest.mark.parametrize("name", ["-ca", "--ca", "@ca", 'c"a', "c\\a", "c\nurl = http:/a", "c\ra", "pkcs11:ca", " ca", "c%41a", "Cä"])
def test_the_file_may_have_any_name(server, authority, name):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(authority.ca.read_bytes())
    ok("sync", "--ca", name, "a.db", server.url, **TOKEN)


def test_the_file_may_be_a_pipe(server, authority):
    ok("sync", "--ca", "/dev/stdin", "a.db", server.url, text=f"A CA:\n{authority.ca.read_text()}", **TOKEN)
    assert len(server.seen) > 1


def test_more_certificates_may_stand_in_the_file(server, authority, stranger):
    both = pathlib.Path("both")
    for order in (authority, stranger), (stranger, authority):
        both.write_text("".join(f"# {each.folder}\n{each.ca.read_text()}{each.key.read_text()}" for each in order))
        ok("sync", "--ca", both, "a.db", server.url, **TOKEN)


CURL = """#!/bin/sh
cat > asked
sed -n 's/^cacert = "\\(.*\\)"/\\1/p' asked | xargs cat > trusted
sed -n 's/^capath = "\\(.*\\)"/\\1/p' asked | xargs ls -a > folder
exit 7
"""


def test_curl_looks_in_no_folder_of_the_machine_and_sees_no_key(server, authority):
    os.mkdir("bin")
    pathlib.Path("bin/curl").write_text(CURL)
    os.chmod("bin/curl", 0o755)
    pathlib.Path("ca").write_text(authority.key.read_text() + authority.ca.read_text())
    path = {"PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}"}
    refuses(server, f"{server.url}: no answer came", "--ca", "ca", **path)
    assert (pathlib.Path("trusted").read_text(), pathlib.Path("folder").read_text()) == (authority.ca.read_text(), ".\n..\n")
    refuses(server, f"{server.url}: no answer came", **path)
    assert not re.search("^(ca|insecure)", pathlib.Path("asked").read_text(), re.M)


def test_a_file_of_ca_is_for_https_alone(server, authority):
    os.mkdir("shared")
    for other in "shared", "b.db", "none.db", server.url.replace("https", "http"), "ftp://here", "HTTPS://here":
        fails(f"--ca is for a server of https://, and {re.escape(other)} is none", "sync", "--ca", authority.ca, "a.db", other, **TOKEN)
    assert server.seen == [] and os.listdir("shared") == [] and rows("b.db", "SELECT * FROM v") == []
    for command in "status", "check", "export", "import":
        fails(f"{command} has no option --ca: see sqlite-counter {command} --help", command, "--ca", authority.ca, "a.db", status=2)
    fails("--ca needs a file of certificates to trust", "sync", "a.db", server.url, "--ca", status=2)
    fails("--ca is given twice", "sync", "--ca", "a", "--ca", "b", "a.db", server.url, status=2)


def test_while_it_watches_the_file_is_read_again(server, authority, stranger):
    """So that a new certificate is trusted as soon as it is there."""
    pathlib.Path("ca").write_bytes(stranger.ca.read_bytes())
    with subprocess.Popen([PROGRAM, "sync", "--watch", "--ca", "ca", "a.db", server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **TOKEN) as watching:
        assert "its certificate is not accepted" in watching.stderr.readline() and server.seen == []
        pathlib.Path("ca").write_bytes(authority.ca.read_bytes())
        for _ in range(40):
            if any("since=" in path for _, path, _ in server.seen):
                break
            make("a.db", "INSERT INTO v VALUES ('y', 1)")
            time.sleep(0.5)
        watching.terminate()
        assert watching.communicate()[0].startswith("gave\t")
