import type { ApiObject, Kind } from "./kind.ts";
import { ageColumn, nameColumn } from "./columns/columns.ts";
import { leaseErrors } from "./validate-lease.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/coordination/lease/strategy.go. */
export const leaseKind: Kind = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  singular: "lease",
  namespaced: true,
  schema: "io.k8s.api.coordination.v1.Lease",
  // Only servers with coordinated leader election, which is off by default, keep these.
  prepareForCreate: dropCoordination,
  prepareForUpdate: dropCoordination,
  validate: leaseErrors,
  columns: [
    nameColumn,
    {
      name: "Holder",
      type: "string",
      description: "holderIdentity contains the identity of the holder of a current lease.",
      cell: (lease) => lease["spec"].holderIdentity ?? "",
    },
    ageColumn,
  ],
};

function dropCoordination(lease: ApiObject): void {
  delete lease["spec"].strategy;
  delete lease["spec"].preferredHolder;
}
