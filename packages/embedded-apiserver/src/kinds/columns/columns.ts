import type { ApiObject, Column } from "../kind.ts";
import { ageOf } from "./human-duration.ts";
import type { Container } from "../pod/pod-fields.ts";
import type { PodTemplate } from "../workload/workload-fields.ts";

/** First column of every kind. */
export const nameColumn: Column = {
  name: "Name",
  type: "string",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  cell: (object) => object.metadata.name,
};

export const ageColumn: Column = {
  name: "Age",
  type: "string",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  cell: (object, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs),
};

/** Wide columns of kinds with a pod template. */
export const templateColumns: readonly Column[] = templateColumnsOf((object) => object["spec"].template);

/** Wide columns of kinds whose template is not at `spec.template`. */
export function templateColumnsOf(templateOf: (object: ApiObject) => PodTemplate | undefined): readonly Column[] {
  return [
    {
      name: "Containers",
      type: "string",
      description: "Names of each container in the template.",
      wide: true,
      cell: (object) => join(templateOf(object)?.spec.containers, (container) => container.name),
    },
    {
      name: "Images",
      type: "string",
      description: "Images referenced by each container in the template.",
      wide: true,
      cell: (object) => join(templateOf(object)?.spec.containers, (container) => container.image ?? ""),
    },
  ];
}

function join(containers: readonly Container[] | null | undefined, text: (container: Container) => string): string {
  return (containers ?? []).map(text).join(",");
}
