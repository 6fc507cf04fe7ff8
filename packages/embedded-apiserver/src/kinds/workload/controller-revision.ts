import { isJsonObject } from "../../json/json-value.ts";
import type { ApiObject, FieldError, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { required } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { nonNegative } from "../validation/numbers.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go and pkg/registry/apps/controllerrevision/strategy.go. */
export const controllerRevisionKind: Kind = {
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  singular: "controllerrevision",
  namespaced: true,
  schema: "io.k8s.api.apps.v1.ControllerRevision",
  validate: revisionErrors,
  columns: [
    nameColumn,
    { name: "Controller", type: "string", description: "Controller of the object", cell: controllerText },
    {
      name: "Revision",
      type: "string",
      description: "Revision indicates the revision of the state represented by Data.",
      cell: (revision) => revision["revision"] ?? 0,
    },
    ageColumn,
  ],
};

function revisionErrors(revision: ApiObject, old: ApiObject | undefined): FieldError[] {
  const errors = nonNegative(revision["revision"], "revision");
  if (old !== undefined) return [...errors, ...immutableErrors(revision["data"], old["data"], "data")];
  const data: unknown = revision["data"];
  if (data === undefined || data === null) return [...errors, required("data", "data is mandatory")];
  return isJsonObject(data) ? errors : [...errors, required("data", "data must be a valid JSON object")];
}

function controllerText({ metadata }: ApiObject): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return "<none>";
  const [group, version] = owner.apiVersion.includes("/") ? owner.apiVersion.split("/") : ["", owner.apiVersion];
  return `${owner.kind.toLowerCase()}${group === "" || version === "" ? "" : `.${group}`}/${owner.name}`;
}
