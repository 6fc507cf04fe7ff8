/** An entry of `metadata.managedFields`. */
interface Entry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: unknown;
}

/** The managers of an object and their fields, a line each. The order of the server depends on the times, so it is not kept. */
export function managersOf({ metadata }: { readonly metadata: { readonly managedFields?: readonly Entry[] } }): string[] {
  const lines = (metadata.managedFields ?? []).map(({ manager, operation, apiVersion, subresource, time, fieldsType, fieldsV1 }) =>
    `${manager ?? "-"} ${operation ?? "-"} ${apiVersion ?? "-"}${subresource === undefined ? "" : ` ${subresource}`} ${time === undefined ? "without time" : ""}${
      fieldsType === "FieldsV1" ? "" : String(fieldsType)
    } ${withoutIds(JSON.stringify(fieldsV1))}`.replaceAll(/ +/g, " "),
  );
  return lines.toSorted();
}

function withoutIds(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID").replaceAll(/10\.\d+\.\d+\.\d+/g, "IP");
}
