import os
import subprocess

import pytest
from kubernetes import config

# Any command that starts the program: `npx @virtual-kubelet/embedded-apiserver` where it is installed.
COMMAND = os.environ.get("EMBEDDED_APISERVER", "npx @virtual-kubelet/embedded-apiserver").split()


@pytest.fixture
def api(tmp_path):
    """A client of a cluster of its own, which ends with the test."""
    path = tmp_path / "kubeconfig"
    server = subprocess.Popen([*COMMAND, "--kubeconfig", str(path)], stdout=subprocess.PIPE, text=True)
    try:
        # It tells the kubeconfig's path when it serves.
        assert any(line.startswith("export KUBECONFIG=") for line in server.stdout)
        with config.new_client_from_config(str(path)) as api_client:
            yield api_client
    finally:
        server.terminate()
        server.wait()
