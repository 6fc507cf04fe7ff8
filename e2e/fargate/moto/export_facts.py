"""Writes what botocore's models say of the operations that the fake has, in a compact form, as JSON.

Usage: export_facts.py ecs|logs. A shape that is only a type is written as that type; documentation is left out.
"""

import json
import sys

import botocore
from botocore.loaders import Loader

SERVICES = {
    "ecs": (
        "2014-11-13",
        [
            "CreateCluster",
            "DeleteTaskDefinitions",
            "DeregisterTaskDefinition",
            "DescribeClusters",
            "DescribeTaskDefinition",
            "DescribeTasks",
            "ExecuteCommand",
            "ListTagsForResource",
            "ListTaskDefinitionFamilies",
            "ListTaskDefinitions",
            "ListTasks",
            "RegisterTaskDefinition",
            "RunTask",
            "StopTask",
            "TagResource",
            "UntagResource",
        ],
    ),
    "logs": ("2014-03-28", ["CreateLogGroup", "CreateLogStream", "FilterLogEvents", "GetLogEvents", "PutLogEvents"]),
}
CONSTRAINTS = ("enum", "min", "max", "pattern")


def export(service):
    version, names = SERVICES[service]
    model = Loader().load_service_model(service, "service-2", version)
    shapes = {}

    def reference(name):
        shape = model["shapes"][name]
        kind = shape["type"]
        if kind not in ("structure", "list", "map") and not any(key in shape for key in CONSTRAINTS):
            return kind
        if name not in shapes:
            facts = shapes[name] = {"type": kind}
            facts.update({key: shape[key] for key in CONSTRAINTS if key in shape})
            if kind == "structure":
                if shape.get("required"):
                    facts["required"] = sorted(shape["required"])
                facts["members"] = {key: reference(member["shape"]) for key, member in sorted(shape["members"].items())}
            elif kind == "list":
                facts["member"] = reference(shape["member"]["shape"])
            elif kind == "map":
                facts["key"] = reference(shape["key"]["shape"])
                facts["value"] = reference(shape["value"]["shape"])
        return name

    operations = {}
    for name in names:
        operation = model["operations"][name]
        operations[name] = {
            "input": reference(operation["input"]["shape"]),
            "errors": sorted(error["shape"] for error in operation.get("errors", [])),
        }
        if "output" in operation:
            operations[name]["output"] = reference(operation["output"]["shape"])
    return {
        "source": f"botocore {botocore.__version__}, {service}/{version}",
        "targetPrefix": model["metadata"]["targetPrefix"],
        "operations": operations,
        "shapes": shapes,
    }


json.dump(export(sys.argv[1]), sys.stdout, indent=2, sort_keys=True)
sys.stdout.write("\n")
