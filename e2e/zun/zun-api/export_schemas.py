"""Writes Zun's schemas for the requests of the provider to standard output, as JSON."""

import json
import sys

from zun.api.controllers.v1.schemas import capsules
from zun.api.controllers.v1.schemas import containers

schemas = {"capsule_create": capsules.capsule_create, "container_create": containers.container_create_v140}
for name in sorted(dir(containers)):
    if name.startswith("query_param_") or name in ("container_update", "network_attach", "network_detach"):
        schemas[name] = getattr(containers, name)
json.dump(schemas, sys.stdout, indent=2, sort_keys=True)
