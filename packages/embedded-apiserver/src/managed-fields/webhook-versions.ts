import { type JsonObject, type JsonValue, sortedText } from "../json/json-value.ts";
import type { ApiObject, Kind, WebhookConversion } from "../kinds/kind.ts";
import { ConversionPending } from "../storage/webhook-view.ts";

/** Converted objects that are kept; a write needs a few, each twice. */
const mostConverted = 100;

/**
 * Converts objects by a webhook for the comparison of their fields in the versions of their managers.
 *
 * @returns a function that throws {@link ConversionPending} until the webhook has answered
 */
export function webhookVersions(kind: Kind, convert: WebhookConversion): (object: JsonObject, apiVersion: string) => JsonObject {
  const converted = new Map<string, JsonObject>();
  return (object, apiVersion) => {
    if (object["apiVersion"] === apiVersion) return object;
    // Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/conversion/webhook_converter.go, `isEmptyUnstructuredObject`.
    if (Object.keys(object).every((field) => field === "apiVersion" || field === "kind")) return { ...object, apiVersion };
    const sent = withoutManagers(object);
    const key = `${apiVersion} ${sortedText(sent)}`;
    const known = converted.get(key);
    if (known !== undefined) return known;
    throw new ConversionPending(kind, remember(key, sent, apiVersion));
  };

  async function remember(key: string, object: JsonObject, apiVersion: string): Promise<void> {
    // An object has all fields that every object has.
    const [result] = await convert([object as JsonObject & ApiObject], apiVersion);
    const [oldest] = converted.keys();
    if (oldest !== undefined && converted.size >= mostConverted) converted.delete(oldest);
    if (result !== undefined) converted.set(key, withoutManagers(result));
  }
}

function withoutManagers({ metadata, ...rest }: JsonObject): JsonObject {
  const { managedFields: _managers, ...fields } = (metadata ?? {}) as Readonly<Record<string, JsonValue>>;
  return { ...rest, metadata: fields };
}
