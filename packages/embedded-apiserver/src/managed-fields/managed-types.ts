import { apiVersionOf } from "../kinds/api-version.ts";
import { withEmbeddedFields } from "../kinds/schema/embedded-fields.ts";
import { once } from "../kinds/schema/once.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { decode } from "../kinds/schema/decode.ts";
import { type MergeType, mergeTypeOf, mergeTypeOfSchema } from "./merge-type.ts";
import type { ManagedType } from "./field-manager.ts";
import { resetFieldsOf } from "./reset-fields.ts";
import { webhookVersions } from "./webhook-versions.ts";

/** How the fields of each kind of a server are managed. */
export class ManagedTypes {
  readonly #kinds: readonly Kind[];
  readonly #types = new WeakMap<Kind, Map<string, ManagedType>>();

  /** @param kinds - served kinds, which come and go */
  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds;
  }

  /** @param subresource - `""` for the object itself */
  of(kind: Kind, subresource: string): ManagedType {
    let bySubresource = this.#types.get(kind);
    if (bySubresource === undefined) this.#types.set(kind, (bySubresource = new Map()));
    let type = bySubresource.get(subresource);
    if (type === undefined) bySubresource.set(subresource, (type = this.#make(kind, subresource)));
    return type;
  }

  #make(kind: Kind, subresource: string): ManagedType {
    const apiVersion = apiVersionOf(kind);
    const reset = resetFieldsOf(kind, subresource);
    const convert = this.#conversionOf(kind);
    return {
      kind: kind.kind,
      apiVersion,
      subresource,
      typeIn: (version) => this.#mergeTypeIn(kind, version),
      convert: (object, version) => (isJsonObject<JsonValue>(object) ? convert(object, version) : object),
      resetFields: () => reset,
      mayChange: kind.custom !== undefined,
      empty: once(() => emptyObject(kind, apiVersion)),
    };
  }

  #mergeTypeIn(kind: Kind, version: string): MergeType | undefined {
    const served = this.#kindIn(kind, version);
    return served === undefined ? undefined : mergeTypeOfKind(served);
  }

  #conversionOf(kind: Kind): (object: JsonObject, version: string) => JsonObject {
    const { webhookConversion } = kind;
    if (webhookConversion === undefined) return (object, version) => this.#convert(kind, object, version);
    return webhookVersions(kind, webhookConversion);
  }

  #convert(kind: Kind, object: JsonObject, version: string): JsonObject {
    // Fields that the other version does not have are not dropped, as they are when the object is stored.
    if (kind.custom !== undefined) return { ...object, apiVersion: version };
    const from = this.#kindIn(kind, String(object["apiVersion"]))?.conversion;
    const to = this.#kindIn(kind, version)?.conversion;
    if (from === to) return { ...object, apiVersion: version };
    // An applied object has all fields that a conversion needs, except those that it takes as absent.
    const stored = from === undefined ? (object as ApiObject & JsonObject) : from.toStorage(object as ApiObject & JsonObject);
    return { ...((to === undefined ? stored : to.fromStorage(stored)) as JsonObject), apiVersion: version };
  }

  /** The same kind in another version. */
  #kindIn(kind: Kind, version: string): Kind | undefined {
    if (apiVersionOf(kind) === version) return kind;
    const served = this.#kinds.find((other) => other.plural === kind.plural && apiVersionOf(other) === version);
    return served ?? kind.custom?.unservedVersions().find((other) => apiVersionOf(other) === version);
  }
}

const mergeTypes = new WeakMap<Kind, MergeType>();

/** How objects of a kind are merged. */
export function mergeTypeOfKind(kind: Kind): MergeType {
  let type = mergeTypes.get(kind);
  if (type === undefined) {
    type = kind.custom === undefined ? mergeTypeOf(kind.schema) : mergeTypeOfSchema(withEmbeddedFields(kind.custom.openApi));
    mergeTypes.set(kind, type);
  }
  return type;
}

/** What a client creates: the fields that are always written, with their zero values. */
function emptyObject({ kind, custom, schema }: Kind, apiVersion: string): JsonObject {
  const fields = custom === undefined ? (decode(schema, {}).object as Record<string, JsonValue>) : {};
  return { ...fields, apiVersion, kind };
}
