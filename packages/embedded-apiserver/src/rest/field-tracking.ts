import { type FieldWrite, trackWrite } from "../managed-fields/field-manager.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { RestContext, WriteOptions } from "./rest-context.ts";

/** Kinds that the API server itself writes, and no controller. */
const serverKinds: ReadonlySet<string> = new Set(["APIService", "CustomResourceDefinition", "IPAddress", "PriorityClass", "ServiceCIDR"]);

/** The write of a request, for the managers of its object's fields. */
export function fieldWriteOf(
  { clock, managedTypes }: RestContext,
  kind: Kind,
  { fieldManager = serverKinds.has(kind.kind) ? "kube-apiserver" : "kube-controller-manager", subresource = "" }: WriteOptions,
): FieldWrite {
  return { type: managedTypes.of(kind, subresource), manager: fieldManager, nowMs: clock.now() };
}

/** Records which fields the request writes, unless a server-side apply has done so. Modifies `object`. */
export function trackFields(
  context: RestContext,
  kind: Kind,
  { object, old, options }: { readonly object: ApiObject; readonly old: Readonly<ApiObject> | undefined; readonly options: WriteOptions },
): void {
  if (options.isApplied !== true) trackWrite(fieldWriteOf(context, kind, options), old, object);
}
