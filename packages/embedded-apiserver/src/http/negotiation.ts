import { ApiStatusError, notAcceptable, notAcceptableRoute, unsupportedMediaType } from "../errors/api-status-error.ts";
import { protobufMediaType } from "../kinds/schema/protobuf.ts";
import type { PatchType } from "../patch/patch-json.ts";

/** Form of a response's object. */
type OutputForm = "object" | "table" | "metadata";

/** Encoding of a body. */
export type Encoding = "json" | "yaml" | "protobuf";

/** How a response is written. */
export interface Output {
  readonly form: OutputForm;
  readonly encoding: Encoding;
  /** Version of `meta.k8s.io` for tables and metadata. */
  readonly metaVersion: "v1" | "v1beta1";
  /** Kind that the client asked for, such as `PartialObjectMetadataList`; `undefined` for the object itself. */
  readonly as?: string | undefined;
}

/** What an endpoint can write. */
export interface OutputLimits {
  /** Custom resources have no protobuf form, except their metadata. */
  readonly isCustom?: boolean;
  /** Whether the response is a stream of events, which has no YAML form. */
  readonly isWatch?: boolean;
  /** Whether objects can be written in other forms; default: true. */
  readonly hasForms?: boolean;
}

interface Accepted {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Media type of each encoding, in the server's order of preference. */
export const mediaTypes: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: protobufMediaType,
};
const encodings: readonly Encoding[] = ["json", "yaml", "protobuf"];
const allMediaTypes: readonly string[] = Object.values(mediaTypes);
const streamTypes: readonly string[] = [`${mediaTypes.json};stream=watch`, `${mediaTypes.protobuf};stream=watch`];

const plainOutput: Output = { form: "object", encoding: "json", metaVersion: "v1" };

/** Outputs of the `Accept` headers of common clients. */
const known = new Map<string, Output | undefined>();
const knownLimit = 200;

/**
 * Selects the first form and encoding in the client's order of preference that is served.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/negotiation/negotiate.go, and for the types that no route has, go-restful.
 *
 * @throws ApiStatusError 406 if no accepted form is served
 */
export function negotiateOutput(accept: string | undefined, limits: OutputLimits = {}): Output {
  if (limits.isCustom !== true && !isRoutable(accept)) throw notAcceptableRoute(allMediaTypes);
  const output = findOutput(accept, limits);
  if (output === undefined) throw notAcceptable(allMediaTypes);
  if (limits.isWatch === true && output.encoding === "yaml") throw notAcceptable(streamTypes);
  return output;
}

/** Like {@link negotiateOutput}; `undefined` if no accepted form is served. */
export function findOutput(accept: string | undefined, { isCustom = false, hasForms = true }: OutputLimits = {}): Output | undefined {
  if (accept === undefined || accept === "" || accept === "application/json" || accept === "*/*") return plainOutput;
  const key = `${String(isCustom)} ${String(hasForms)} ${accept}`;
  if (known.has(key)) return known.get(key);
  const output = chooseOutput(accept, { isCustom, hasForms });
  if (known.size < knownLimit) known.set(key, output);
  return output;
}

function chooseOutput(accept: string, limits: OutputLimits): Output | undefined {
  for (const range of parseAccept(accept)) {
    for (const encoding of encodings) {
      const output = isMatch(range.type, mediaTypes[encoding]) ? outputOf(range.parameters, encoding, limits) : undefined;
      if (output !== undefined) return output;
    }
  }
  return undefined;
}

function isMatch(range: string, type: string): boolean {
  return range === type || range === "application/*" || range === "*/*";
}

function outputOf(parameters: ReadonlyMap<string, string>, encoding: Encoding, { isCustom, hasForms }: OutputLimits): Output | undefined {
  const stream = parameters.get("stream") ?? "";
  if (stream !== "" && (stream !== "watch" || encoding === "yaml")) return undefined;
  if (!["as", "g", "v"].some((name) => parameters.has(name)))
    return isCustom === true && encoding === "protobuf" ? undefined : { ...plainOutput, encoding };
  const metaVersion = parameters.get("v");
  if (hasForms === false || parameters.get("g") !== "meta.k8s.io" || (metaVersion !== "v1" && metaVersion !== "v1beta1")) return undefined;
  const as = parameters.get("as");
  if (as === "Table") return encoding === "protobuf" ? undefined : { form: "table", encoding, metaVersion, as };
  const isMetadata = as === "PartialObjectMetadata" || as === "PartialObjectMetadataList";
  return isMetadata ? { form: "metadata", encoding, metaVersion, as } : undefined;
}

/** Whether a route of the built-in groups produces an accepted type; `application/*` matches none there. */
function isRoutable(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === "") return true;
  return accept.split(",").some((range) => {
    const type = range.split(";", 1)[0]?.trim() ?? "";
    return type === "*/*" || allMediaTypes.includes(type);
  });
}

export function parseAccept(accept: string): Accepted[] {
  return accept
    .split(",")
    .map((range) => {
      const [type = "", ...rest] = range.split(";").map((part) => part.trim());
      const parameters = new Map(
        rest.map((parameter) => [parameter.slice(0, parameter.indexOf("=")), parameter.slice(parameter.indexOf("=") + 1)] as const),
      );
      return { type: type.toLowerCase(), parameters, quality: Number(parameters.get("q") ?? 1) };
    })
    .toSorted((a, b) => b.quality - a.quality || wildcards(a.type) - wildcards(b.type));
}

function wildcards(type: string): number {
  return type === "*/*" ? 2 : type.endsWith("/*") ? 1 : 0;
}

/**
 * Checks that a request's body has an encoding that is read.
 *
 * @throws ApiStatusError 415
 */
export function bodyEncoding(contentType: string | undefined): Encoding {
  const type = mediaTypeOf(contentType);
  const encoding = type === "" ? "json" : encodings.find((one) => mediaTypes[one] === type);
  if (encoding !== undefined) return encoding;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${allMediaTypes.join(", ")}`,
  );
}

const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
};

const customPatchTypes = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

/**
 * Patch type of a content type.
 *
 * @param isCustom - whether the patch is for a custom resource, which has no strategic merge patches
 *
 * @throws ApiStatusError 415 for other types
 */
export function patchTypeOf(contentType: string | undefined, isCustom = false): PatchType {
  const type = mediaTypeOf(contentType);
  const patchType = patchTypes[type];
  if (patchType !== undefined && !(isCustom && patchType === "strategic")) return patchType;
  if (isCustom)
    throw unsupportedMediaType(`the body of the request was in an unknown format - accepted media types include: ${customPatchTypes}`);
  // The real server's message is as short.
  throw new ApiStatusError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });
}

/** Media type of a content type, in lower case and without parameters. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
