import type { Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { limitRangeErrors, resourceQuotaErrors } from "./validate-quotas.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and pkg/printers/internalversion. */

type Quantities = Record<string, string>;

/** Limit ranges, which admission/limit-ranger applies. */
export const limitRangeKind: Kind = plainKind({
  group: "",
  kind: "LimitRange",
  plural: "limitranges",
  shortNames: ["limits"],
  namespaced: true,
  applyDefaults({ spec }) {
    for (const limit of spec.limits ?? []) {
      if (limit.type !== "Container") continue;
      const limits: Quantities = { ...limit.max, ...limit.default };
      const requests: Quantities = { ...limit.min, ...limits, ...limit.defaultRequest };
      if (Object.keys(limits).length > 0) limit.default = limits;
      if (Object.keys(requests).length > 0) limit.defaultRequest = requests;
    }
  },
  validate: limitRangeErrors,
  columns: [
    nameColumn,
    {
      name: "Created At",
      type: "date",
      description:
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
      cell: ({ metadata }) => metadata.creationTimestamp,
    },
  ],
});

/** Quotas, which admission/resource-quota enforces. */
export const resourceQuotaKind: Kind = plainKind({
  group: "",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  shortNames: ["quota"],
  namespaced: true,
  hasStatus: true,
  validate: resourceQuotaErrors,
  columns: [
    nameColumn,
    textColumn("Request", "Request represents a minimum amount of cpu/memory that a container may consume.", ({ status }) =>
      usage(status, false),
    ),
    textColumn(
      "Limit",
      "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
      ({ status }) => usage(status, true),
    ),
    ageColumn,
  ],
});

export const quotaKinds: readonly Kind[] = [limitRangeKind, resourceQuotaKind];

function usage({ hard = {}, used = {} }: { readonly hard?: Quantities; readonly used?: Quantities }, isLimit: boolean): string {
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === isLimit)
    .toSorted()
    .map((name) => `${name}: ${used[name] ?? "0"}/${hard[name]}`)
    .join(", ");
}
