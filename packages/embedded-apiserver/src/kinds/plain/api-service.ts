import type { Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { pathSegmentProblems } from "../validation/names.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { apiServiceErrors } from "./validate-api-service.ts";

/** Registrations of aggregated API servers. Source: k8s.io/kube-aggregator v0.36.3. */
export const apiServiceKind: Kind = plainKind({
  group: "apiregistration.k8s.io",
  kind: "APIService",
  plural: "apiservices",
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  schema: "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
  applyDefaults({ spec }) {
    if (spec.service !== undefined && spec.service !== null) spec.service.port ??= 443;
  },
  nameProblems: pathSegmentProblems,
  validate: apiServiceErrors,
  columns: [
    nameColumn,
    textColumn("Service", "The reference to the service that hosts this API endpoint.", ({ spec }) =>
      spec.service === undefined || spec.service === null ? "Local" : `${spec.service.namespace}/${spec.service.name}`,
    ),
    textColumn("Available", "Whether this service is available.", ({ status }) => {
      const conditions: { type: string; status: string; reason?: string }[] = status.conditions ?? [];
      const available = conditions.find(({ type }) => type === "Available");
      return available === undefined || available.status === "True"
        ? (available?.status ?? "Unknown")
        : `${available.status} (${available.reason})`;
    }),
    ageColumn,
  ],
});
