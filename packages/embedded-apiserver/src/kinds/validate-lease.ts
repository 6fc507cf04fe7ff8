import type { ApiObject, FieldError } from "./kind.ts";
import { invalidValue } from "./validation/field-errors.ts";

/** What is wrong with a lease. Source: Kubernetes v1.36.3 pkg/apis/coordination/validation/validation.go. */
export function leaseErrors(lease: ApiObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions }: { leaseDurationSeconds?: number; leaseTransitions?: number } =
    lease["spec"];
  return [
    ...(duration !== undefined && duration <= 0 ? [invalidValue("spec.leaseDurationSeconds", duration, "must be greater than 0")] : []),
    ...(transitions !== undefined && transitions < 0
      ? [invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
      : []),
  ];
}
