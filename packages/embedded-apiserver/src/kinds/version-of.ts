import { apiVersionOf } from "./api-version.ts";
import { equalJson, isJsonObject } from "../json/json-value.ts";
import { storageFormOf, type ApiObject, type Column, type Kind, type VersionConversion } from "./kind.ts";
import { decode } from "./schema/decode.ts";

/** A further version of a built-in kind. */
export interface FurtherVersion extends Partial<Kind> {
  readonly group: string;
  readonly version: string;
  readonly schema: string;
  /** The results are decoded afterwards, so they may have empty fields. The arguments may be incomplete: a client may have applied them. */
  readonly conversion: VersionConversion;
}

/**
 * Creates a further version of a built-in kind, which is stored as that kind. Its objects are prepared, validated and shown in the stored
 * version, as the real server does in its internal version.
 *
 * @param hub - kind as which the objects are stored
 */
export function versionOf(hub: Kind, given: FurtherVersion): Kind {
  const stored = storageFormOf(hub);
  const hubVersion = apiVersionOf(stored);
  const ownVersion = apiVersionOf(given);
  const convert = (
    object: Readonly<ApiObject>,
    { schema, apiVersion }: { schema: string; apiVersion: string },
    run: VersionConversion["toStorage"],
  ): ApiObject => {
    const { metadata } = object;
    const converted = run({ ...object, metadata: { ...metadata } });
    const { kind: _kind, apiVersion: _version, metadata: _metadata, ...fields } = decode(schema, converted).object;
    return { kind: hub.kind, apiVersion, metadata: converted.metadata, ...fields };
  };
  const conversion: VersionConversion = {
    fromStorage: (object) => convert(object, { schema: given.schema, apiVersion: ownVersion }, given.conversion.fromStorage),
    toStorage: (object) => convert(object, { schema: hub.schema, apiVersion: hubVersion }, given.conversion.toStorage),
  };
  const { applyDefaults: _defaults, prepareForCreate, prepareForUpdate, validate, ...inherited } = hub;
  /** Runs a hook of the hub on the object in the stored version. */
  const through = (object: ApiObject, hook: (inHub: ApiObject) => void): void => {
    const inHub = conversion.toStorage(object);
    const before = conversion.fromStorage(inHub);
    const isLossy = !equalJson(conversion.toStorage(before), inHub);
    hook(inHub);
    const result = conversion.fromStorage(inHub);
    for (const field of Object.keys(object)) if (!(field in result)) delete object[field];
    if (isLossy) setChanges(object, before, result);
    else Object.assign(object, result);
  };
  return {
    ...inherited,
    ...(prepareForCreate === undefined
      ? {}
      : { prepareForCreate: (object, context) => through(object, (inHub) => prepareForCreate(inHub, context)) }),
    ...(prepareForUpdate === undefined
      ? {}
      : {
          prepareForUpdate: (object, old, context) =>
            through(object, (inHub) => prepareForUpdate(inHub, conversion.toStorage(old), context)),
        }),
    ...(validate === undefined
      ? {}
      : {
          validate: (object, old) => validate(conversion.toStorage(object), old === undefined ? undefined : conversion.toStorage(old)),
        }),
    ...(hub.columns === undefined ? {} : { columns: hub.columns.map((column) => columnOf(column, conversion)) }),
    storageGroup: stored.group,
    storageVersion: stored.version,
    ...given,
    conversion,
  };
}

/** Sets the fields of an object and of its metadata that differ between two values. Others keep what only the object itself has. */
function setChanges(
  object: Record<string, unknown>,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): void {
  for (const [field, value] of Object.entries(after)) {
    const [own, old] = [object[field], before[field]];
    if (equalJson(old, value)) continue;
    if (field === "metadata" && isJsonObject(own) && isJsonObject(old) && isJsonObject(value)) setChanges(own, old, value);
    else object[field] = value;
  }
}

function columnOf(column: Column, { toStorage }: VersionConversion): Column {
  return { ...column, cell: (object, nowMs) => column.cell(toStorage(object), nowMs) };
}
