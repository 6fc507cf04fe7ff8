import { nameColumn } from "./columns/columns.ts";
import type { ApiObject, Column, Kind } from "./kind.ts";

/** Condition of a component. Source: k8s.io/api v0.36.3 core/v1/types.go, `ComponentCondition`. */
interface ComponentCondition {
  readonly type: "Healthy";
  readonly status: "True" | "False";
  readonly message: string;
}

/** State of a part of the control plane. Computed at each request and not stored. */
export const componentStatusKind: Kind = {
  group: "",
  version: "v1",
  kind: "ComponentStatus",
  plural: "componentstatuses",
  singular: "componentstatus",
  shortNames: ["cs"],
  namespaced: false,
  schema: "io.k8s.api.core.v1.ComponentStatus",
  verbs: ["get", "list"],
  deprecation: "v1 ComponentStatus is deprecated in v1.19+",
  columns: [
    nameColumn,
    column("Status", "Status of the component conditions", ({ status }) => (status === "True" ? "Healthy" : "Unhealthy")),
    column("Message", "Message of the component conditions", ({ message }) => message),
    column("Error", "Error of the component conditions", () => ""),
  ],
};

function column(name: string, description: string, cell: (condition: ComponentCondition) => string): Column {
  return { name, type: "string", description, cell: (object) => cell((object["conditions"] as readonly [ComponentCondition])[0]) };
}

/**
 * States of the components that kube-apiserver knows, by their names.
 *
 * Source: pkg/registry/core/rest/storage_core.go of Kubernetes v1.36.3, `serversToValidate`. Here the controllers and the storage are in
 * the same process, so that no component is probed.
 *
 * @param hasControllers - whether the server runs controllers, the scheduler among them
 */
export function componentStatuses(hasControllers: boolean): readonly ApiObject[] {
  const ok = { status: "True", message: "ok" } as const;
  const controllers = hasControllers ? ok : ({ status: "False", message: "the embedded API server runs no controllers" } as const);
  return Object.entries({ "controller-manager": controllers, "etcd-0": ok, scheduler: controllers }).map(([name, condition]) => {
    const conditions: readonly ComponentCondition[] = [{ type: "Healthy", ...condition }];
    return {
      kind: componentStatusKind.kind,
      apiVersion: componentStatusKind.version,
      metadata: { name },
      conditions,
    } as unknown as ApiObject;
  });
}
