import type { Column } from "../kind.ts";
import { ageOf } from "./human-duration.ts";
import type { Container } from "./pod/pod-fields.ts";

/** The column every kind begins with. */
export const nameColumn: Column = {
  name: "Name",
  type: "string",
  description: "Name must be unique within a namespace.",
  cell: (object) => object.metadata.name,
};

/** Time since creation. */
export const ageColumn: Column = {
  name: "Age",
  type: "string",
  description: "CreationTimestamp is a timestamp representing the server time when this object was created.",
  cell: (object, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs),
};

/** The wide columns of whatever has a pod template. */
export const templateColumns: readonly Column[] = [
  {
    name: "Containers",
    type: "string",
    description: "Names of each container in the template.",
    wide: true,
    cell: (object) => join(object["spec"].template.spec.containers, (container) => container.name),
  },
  {
    name: "Images",
    type: "string",
    description: "Images referenced by each container in the template.",
    wide: true,
    cell: (object) => join(object["spec"].template.spec.containers, (container) => container.image ?? ""),
  },
];

function join(containers: readonly Container[] | null, text: (container: Container) => string): string {
  return (containers ?? []).map(text).join(",");
}
