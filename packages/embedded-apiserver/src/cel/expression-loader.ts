import type { AdmissionPlugin } from "../admission/admission-plugin.ts";
import { apiExtensionsGroup } from "../custom-resources/crd-fields.ts";
import { areExpressionsLoaded, loadExpressions } from "./engine.ts";

const admissionKinds: ReadonlySet<string> = new Set([
  "ValidatingAdmissionPolicy",
  "MutatingAdmissionPolicy",
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
]);

/** Whether objects of a kind can have expressions. */
function canHaveExpressions({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return (group === apiExtensionsGroup && kind === "CustomResourceDefinition") || admissionKinds.has(kind);
}

/** Whether an object has expressions that its validation compiles. */
function hasExpressions(object: { readonly kind?: unknown } | undefined): boolean {
  if (object === undefined) return false;
  if (admissionKinds.has(String(object.kind))) return hasKey(object, "expression") || hasKey(object, "key");
  return object.kind === "CustomResourceDefinition" && hasKey(object, "x-kubernetes-validations");
}

function hasKey(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, member]) => key === name || hasKey(member, name));
}

/** Loads what evaluates expressions if one of the objects has some. */
export async function loadExpressionsOf(objects: readonly object[] = []): Promise<void> {
  if (objects.some(hasExpressions)) await loadExpressions();
}

/** Loads what evaluates expressions before the first object with expressions is validated. */
export function createExpressionLoader(): AdmissionPlugin {
  return {
    name: "ExpressionLoader",
    handles: ({ kind, operation }) => !areExpressionsLoaded() && operation !== "DELETE" && canHaveExpressions(kind),
    mutate: ({ object }) => (hasExpressions(object) ? loadExpressions() : undefined),
  };
}
