"""authority.py - a CA of its own for the tests of HTTPS, which no machine trusts, and certificates of servers that it signs."""

import shutil
import ssl
import subprocess

import pytest

CONFIGURATION = """[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {hosts}
"""
HERE = "IP:127.0.0.1, DNS:localhost"


class Authority:
    """Its certificate is the file `ca`."""

    def __init__(self, folder, name="CA of a test"):
        if not shutil.which("openssl"):
            pytest.skip("no openssl")
        self.folder = folder
        self.ca, self.key = folder / "ca.pem", folder / "ca.key"
        self.make_key("ca")
        self.run("req", "-x509", "-new", "-key", self.key, "-days", "2", "-config", self.configure("ca", name), "-extensions", "authority",
                 "-out", self.ca)

    def run(self, *words):
        subprocess.run(["openssl", *map(str, words)], cwd=self.folder, check=True, capture_output=True)

    def make_key(self, file):
        self.run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{file}.key")

    def configure(self, file, name, hosts=HERE):
        path = self.folder / f"{file}.cnf"
        path.write_text(CONFIGURATION.format(name=name, hosts=hosts))
        return path

    def certify(self, file, hosts=HERE):
        """A file with the certificate of a server for these hosts, and its key."""
        path, settings = self.folder / f"{file}.pem", self.configure(file, "a server", hosts)
        self.make_key(file)
        self.run("req", "-new", "-key", f"{file}.key", "-config", settings, "-out", f"{file}.csr")
        self.run("x509", "-req", "-in", f"{file}.csr", "-CA", self.ca, "-CAkey", self.key, "-CAcreateserial", "-days", "2",
                 "-extfile", settings, "-extensions", "server", "-out", path)
        with open(path, "a") as certificate:
            certificate.write((self.folder / f"{file}.key").read_text())
        return path


def behind_tls(listening, certificate):
    """The socket of a server; a client that does not trust the certificate fails to connect to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(listening, server_side=True)
