import type { ApiObject, FieldError, Kind } from "./kind.ts";
import { ageColumn, nameColumn } from "./columns/columns.ts";
import { invalidValue } from "./validation/field-errors.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/coordination/lease/strategy.go. */
export const leaseKind: Kind = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  singular: "lease",
  namespaced: true,
  schema: "io.k8s.api.coordination.v1.Lease",
  // These fields are kept only by servers with coordinated leader election, which is off by default.
  prepareForCreate: dropCoordination,
  prepareForUpdate: dropCoordination,
  validate: leaseErrors,
  columns: [
    nameColumn,
    {
      name: "Holder",
      type: "string",
      description:
        "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
      cell: (lease) => lease["spec"].holderIdentity ?? "",
    },
    ageColumn,
  ],
};

function dropCoordination(lease: ApiObject): void {
  delete lease["spec"].strategy;
  delete lease["spec"].preferredHolder;
}

/** Source: Kubernetes v1.36.3 pkg/apis/coordination/validation/validation.go. */
function leaseErrors(lease: ApiObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions }: { leaseDurationSeconds?: number; leaseTransitions?: number } =
    lease["spec"];
  return [
    ...(duration !== undefined && duration <= 0 ? [invalidValue("spec.leaseDurationSeconds", duration, "must be greater than 0")] : []),
    ...(transitions !== undefined && transitions < 0
      ? [invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
      : []),
  ];
}
