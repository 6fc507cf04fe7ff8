import type { ApiObject, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { claimTemplateErrors, deviceClassErrors, resourceClaimErrors, resourceSliceErrors } from "./validate-devices.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/resource and pkg/printers/internalversion. */

const group = "resource.k8s.io";

interface DeviceRequest {
  readonly exactly?: DeviceCount;
  readonly firstAvailable?: readonly DeviceCount[];
}

interface DeviceCount {
  allocationMode?: string;
  count?: number;
}

/** Devices and claims. They are stored, but nothing is allocated. */
export const dynamicResourceKinds: readonly Kind[] = [
  plainKind({
    group,
    kind: "DeviceClass",
    plural: "deviceclasses",
    namespaced: false,
    counted: ["spec"],
    validate: deviceClassErrors,
    columns: [nameColumn, ageColumn],
  }),
  plainKind({
    group,
    kind: "ResourceClaim",
    plural: "resourceclaims",
    namespaced: true,
    hasStatus: true,
    applyDefaults: ({ spec }) => applyRequestDefaults(spec.devices?.requests ?? []),
    validate: resourceClaimErrors,
    columns: [
      nameColumn,
      textColumn("State", "A summary of the current state (allocated, pending, reserved, etc.).", claimState),
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    namespaced: true,
    applyDefaults: ({ spec }) => applyRequestDefaults(spec.spec?.devices?.requests ?? []),
    validate: claimTemplateErrors,
    columns: [nameColumn, ageColumn],
  }),
  plainKind({
    group,
    kind: "ResourceSlice",
    plural: "resourceslices",
    namespaced: false,
    counted: ["spec"],
    validate: resourceSliceErrors,
    fieldSelectors: { "spec.nodeName": ({ spec }) => spec.nodeName ?? "", "spec.driver": ({ spec }) => spec.driver ?? "" },
    columns: [
      nameColumn,
      textColumn(
        "Node",
        "NodeName identifies the node which provides the resources in this pool. A field selector can be used to list only ResourceSlice objects belonging to a certain node.\n\nThis field can be used to limit access from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new nodes of the same type as some old node might also make new resources available.\n\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable.",
        ({ spec }) => spec.nodeName,
      ),
      textColumn(
        "Driver",
        "Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only ResourceSlice objects with a certain driver name.\n\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This field is immutable.",
        ({ spec }) => spec.driver,
      ),
      textColumn(
        "Pool",
        "Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required.\n\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. This field is immutable.",
        ({ spec }) => spec.pool?.name,
      ),
      ageColumn,
    ],
  }),
];

function applyRequestDefaults(requests: readonly DeviceRequest[]): void {
  for (const { exactly, firstAvailable = [] } of requests) {
    for (const request of exactly === undefined ? firstAvailable : [exactly, ...firstAvailable]) {
      request.allocationMode ??= "ExactCount";
      if (request.allocationMode === "ExactCount") request.count ??= 1;
    }
  }
}

function claimState({ metadata, status }: ApiObject): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ["deleted"] : [];
  if (status.allocation !== undefined) states.push("allocated", ...((status.reservedFor ?? []).length > 0 ? ["reserved"] : []));
  else if (!isDeleted) states.push("pending");
  return states.join(",");
}
