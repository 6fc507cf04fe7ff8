"""Runs Zun's real API on SQLite, with a fake scheduler and fake compute hosts.

usage: zun_api.py DIRECTORY PORT KEYSTONE_URL

Everything between HTTP and the call to a compute host is Zun's code: token check, API versions, schemas, policies, quotas, database,
clients of Keystone and Neutron. The fake compute host changes states and answers like a real one. Prints a line when it listens.
"""

import pathlib
import sys
import uuid
import warnings
from wsgiref import simple_server

warnings.simplefilter("ignore")

DIRECTORY, PORT, KEYSTONE = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

PASTE = """
[pipeline:main]
pipeline = request_id authtoken api_v1
[app:api_v1]
paste.app_factory = zun.api.app:app_factory
[filter:authtoken]
acl_public_routes = /, /v1
paste.filter_factory = zun.api.middleware.auth_token:AuthTokenMiddleware.factory
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
"""

KEYSTONE_SECTION = f"""
auth_type = password
auth_url = {KEYSTONE}
www_authenticate_uri = {KEYSTONE}
auth_uri = {KEYSTONE}
auth_version = v3
username = zun
password = secret-of-the-cloud
project_name = service
user_domain_name = Default
project_domain_name = Default
"""

CONF_TEXT = f"""
[DEFAULT]
transport_url = fake://
state_path = {DIRECTORY}
[api]
host_ip = 127.0.0.1
port = {PORT}
api_paste_config = {DIRECTORY}/api-paste.ini
[database]
connection = sqlite:///{DIRECTORY}/zun.sqlite
[keystone_auth]{KEYSTONE_SECTION}
[keystone_authtoken]{KEYSTONE_SECTION}
[oslo_concurrency]
lock_path = {DIRECTORY}/locks
[quota]
containers = 6
[websocket_proxy]
base_url = ws://127.0.0.1:9/
"""

DIRECTORY.mkdir(parents=True, exist_ok=True)
(DIRECTORY / "api-paste.ini").write_text(PASTE)
(DIRECTORY / "zun.conf").write_text(CONF_TEXT)

from zun.common import service  # noqa: E402

service.prepare_service(["zun-api", "--config-file", str(DIRECTORY / "zun.conf")])

from zun import objects  # noqa: E402
from zun.api import app  # noqa: E402
from zun.compute import rpcapi  # noqa: E402
from oslo_db.sqlalchemy import enginefacade  # noqa: E402
from zun.db.sqlalchemy import models  # noqa: E402
from zun.scheduler.client import query  # noqa: E402

# The released migrations do not run on SQLite, but the resulting models do.
models.Base.metadata.create_all(enginefacade.writer.get_engine())

ADDRESSES = {"6c2dee1c-8d4c-4b39-a4b1-5d6b8f0d7d2e": [{"addr": "10.88.0.5", "version": 4, "port": str(uuid.uuid4()), "subnet_id": str(uuid.uuid4()), "preserve_on_delete": False}]}


class Scheduler:
    def select_destinations(self, context, containers, extra_spec):
        return [{"host": "stand-in", "nodename": "stand-in", "limits": {}}]


class Compute:
    """Completes at once what a compute host does asynchronously."""

    def __init__(self, context=None, **_kwargs):
        pass

    def container_create(self, context, host, container, limits, requested_networks, requested_volumes, run, pci_requests):
        container.host = host
        container.status = "Running" if run or isinstance(container, objects.Capsule) else "Created"
        container.addresses = ADDRESSES
        container.save(context)
        if isinstance(container, objects.Capsule):
            for member in list(container.init_containers or []) + list(container.containers or []):
                member.status = "Running"
                member.save(context)

    def container_show(self, context, container):
        container.status_detail = {"Running": "Up 5 seconds", "Stopped": "Exited(0) 2 seconds ago "}.get(container.status)
        container.save(context)
        return container

    def container_stop(self, context, container, timeout):
        container.status = "Stopped"
        container.save(context)

    def container_kill(self, context, container, signal):
        container.status = "Stopped"
        container.save(context)

    def container_delete(self, context, container, force=False):
        container.destroy(context)

    def container_logs(self, context, container, stdout, stderr, timestamps, tail, since):
        return "2026-11-21T10:00:00.000000001Z hello\n"

    def container_stats(self, context, container):
        return {"CONTAINER": container.name, "CPU %": 0.1, "MEM USAGE(MiB)": 1.5, "MEM LIMIT(MiB)": 512, "MEM %": 0.3, "BLOCK I/O(B)": "0/0", "NET I/O(B)": "1/2"}

    def container_exec(self, context, container, command, run, interactive):
        if run:
            return {"output": "usage_usec 5\n", "exit_code": 0, "exec_id": None, "token": None}
        return {"output": None, "exit_code": None, "exec_id": "ab" * 32, "token": str(uuid.uuid4())}

    def container_exec_resize(self, context, container, exec_id, height, width):
        return None

    def container_attach(self, context, container):
        return str(uuid.uuid4())

    def container_resize(self, context, container, height, width):
        return None

    def container_unpause(self, context, container):
        container.status = "Running"
        container.save(context)


rpcapi.API = Compute
query.SchedulerClient = Scheduler


class QuietHandler(simple_server.WSGIRequestHandler):
    def log_message(self, format, *args):
        pass


server = simple_server.make_server("127.0.0.1", PORT, app.load_app(), handler_class=QuietHandler)
print("listening", flush=True)
server.serve_forever()
