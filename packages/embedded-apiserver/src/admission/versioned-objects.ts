import { apiVersionOf } from "../kinds/api-version.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { Steps } from "../rest/steps.ts";
import { convertObject } from "../storage/version-view.ts";
import type { AdmissionRequest } from "./admission-plugin.ts";

/** Objects of a request in the version of `kind`, which a rule of a webhook or policy has matched. */
export interface VersionedObjects {
  readonly kind: Kind;
  readonly object: Readonly<ApiObject> | undefined;
  readonly old: Readonly<ApiObject> | undefined;
}

/** Objects of a request in another version. Waits only for a conversion webhook. @throws ApiStatusError of the conversion */
export function* inVersion({ object, old, kind }: AdmissionRequest, wanted: Kind): Steps<VersionedObjects> {
  if (wanted === kind) return { kind, object, old };
  return { kind: wanted, object: yield* converted(object, kind, wanted), old: yield* converted(old, kind, wanted) };
}

/** The bodies of subresources have their own version. */
function* converted(object: Readonly<ApiObject> | undefined, from: Kind, to: Kind): Steps<Readonly<ApiObject> | undefined> {
  if (object === undefined || object.kind !== from.kind || from === to) return object;
  if (to.webhookConversion === undefined) return convertObject(object, from, to);
  let result: Readonly<ApiObject> | undefined;
  yield to.webhookConversion([object], apiVersionOf(to)).then(([first]) => void (result = first));
  return result;
}

/** Replaces the content of a request's object. @param from - kind in whose version `wanted` is */
export function* replaceObject({ object, kind }: AdmissionRequest, from: Kind, wanted: Readonly<ApiObject>): Steps<void> {
  const result = yield* converted(wanted, from, kind);
  if (object === undefined || result === undefined) return;
  for (const field of Object.keys(object)) if (!(field in result)) delete object[field];
  Object.assign(object, result);
}
