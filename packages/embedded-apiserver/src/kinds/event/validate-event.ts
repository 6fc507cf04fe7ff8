import type { ApiObject, FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { eventFields, type EventFields } from "./event-fields.ts";
import { invalidValue, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";

/**
 * Source: Kubernetes v1.36.3 pkg/apis/core/validation/events.go, legacyValidateEvent.
 *
 * @param event - core/v1
 * @param controllerField - name of the reporting controller's field in errors
 */
export function eventErrors(event: ApiObject, controllerField: string): FieldError[] {
  const fields = eventFields(event);
  const { namespace = "" } = event.metadata;
  const about = fields.involvedObject.namespace ?? "";
  const mismatch = invalidValue("involvedObject.namespace", about, "does not match event.namespace");
  if (!fields.eventTime) {
    const matches = about === "" ? namespace === "default" : namespace === about;
    return matches ? [] : [mismatch];
  }
  const isElsewhere = about === "" && namespace !== "default" && namespace !== "kube-system";
  return [...(isElsewhere ? [mismatch] : []), ...modernErrors(fields, controllerField)];
}

/** Events with an `eventTime` have more required fields. */
function modernErrors(
  { reportingComponent, reportingInstance, action = "", reason = "", message = "" }: EventFields,
  controllerField: string,
): FieldError[] {
  const atMost = (field: string, value: string, limit: number): FieldError[] =>
    value.length > limit ? [invalidValue(field, "", `can have at most ${limit} characters`)] : [];
  const needed = (field: string, value: string): FieldError[] => (value === "" ? [required(field)] : []);
  return [
    ...needed(controllerField, reportingComponent),
    ...each(controllerField, reportingComponent, labelKeyProblems(reportingComponent)),
    ...needed("reportingInstance", reportingInstance),
    ...atMost("reportingInstance", reportingInstance, 128),
    ...needed("action", action),
    ...atMost("action", action, 128),
    ...needed("reason", reason),
    ...atMost("reason", reason, 128),
    ...atMost("message", message, 1024),
  ];
}
