import { admitThrough, type AdmissionSubject } from "../admission/admission-plugin.ts";
import type { JsonObject } from "../json/json-value.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { decode } from "../kinds/schema/decode.ts";
import type { DecodedType } from "./decode-object.ts";
import type { RestContext } from "./rest-context.ts";
import type { Steps } from "./steps.ts";

/**
 * Passes the body of a subresource, such as a Binding, through both stages of admission.
 *
 * @param makeObject - the body as an object; called only if a plugin looks at the request
 * @returns the body as the plugins changed it; `undefined` if no plugin looked at it
 * @throws ApiStatusError of the plugin that refuses
 */
export function* admitBody(
  context: Pick<RestContext, "admission">,
  subject: AdmissionSubject,
  makeObject: () => ApiObject,
): Steps<ApiObject | undefined> {
  const plugins = context.admission.pluginsFor(subject);
  if (plugins.length === 0) return undefined;
  const object = makeObject();
  yield* admitThrough(plugins, "mutate", { ...subject, object, old: undefined });
  yield* admitThrough(plugins, "validate", { ...subject, object, old: undefined });
  return object;
}

/** Decodes the body of a subresource and sets its namespace. @throws DecodeError */
export function bodyObject(type: DecodedType, namespace: string, body: JsonObject): ApiObject {
  const { kind: _kind, apiVersion: _version, metadata, ...fields } = decode(type.schema, body).object;
  const object = { kind: type.kind, apiVersion: apiVersionOf(type), metadata: { ...(metadata as object), namespace }, ...fields };
  return object as unknown as ApiObject;
}
