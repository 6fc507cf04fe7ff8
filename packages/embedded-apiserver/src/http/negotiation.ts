import { ApiStatusError, notAcceptable, unsupportedMediaType } from "../errors/api-status-error.ts";
import { protobufMediaType } from "../kinds/schema/protobuf.ts";

/** The form an answer takes. */
export type OutputForm = "object" | "table" | "metadata";

interface Accepted {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/**
 * The form the caller likes best among those there are. Protobuf and YAML are passed over: only JSON is served.
 *
 * @throws ApiStatusError 406 if there is none the caller takes
 */
export function negotiateOutput(accept: string | undefined): OutputForm {
  if (accept === undefined || accept.trim() === "") return "object";
  for (const { type, parameters } of parseAccept(accept)) {
    if (type !== "application/json" && type !== "application/*" && type !== "*/*") continue;
    const form = formOf(parameters);
    if (form !== undefined) return form;
  }
  throw notAcceptable(["application/json"]);
}

function formOf(parameters: ReadonlyMap<string, string>): OutputForm | undefined {
  const as = parameters.get("as");
  if (as === undefined) return "object";
  if (parameters.get("g") !== "meta.k8s.io" || parameters.get("v") !== "v1") return undefined;
  if (as === "Table") return "table";
  return as === "PartialObjectMetadata" || as === "PartialObjectMetadataList" ? "metadata" : undefined;
}

function parseAccept(accept: string): Accepted[] {
  return accept
    .split(",")
    .map((range) => {
      const [type = "", ...rest] = range.split(";").map((part) => part.trim());
      const parameters = new Map(
        rest.map((parameter) => [parameter.slice(0, parameter.indexOf("=")), parameter.slice(parameter.indexOf("=") + 1)] as const),
      );
      return { type: type.toLowerCase(), parameters, quality: Number(parameters.get("q") ?? 1) };
    })
    .toSorted((a, b) => b.quality - a.quality);
}

/**
 * Checks that a request's body is JSON or protobuf.
 *
 * @throws ApiStatusError 415
 */
export function checkJsonBody(contentType: string | undefined): void {
  const type = mediaType(contentType);
  if (type === "" || type === "application/json" || type === protobufMediaType) return;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: application/json, ${protobufMediaType}; the embedded API server does not read ${type}`,
  );
}

/** The kinds of patch. */
export type PatchType = "json" | "merge" | "strategic";

const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
};

/**
 * The kind of patch a content type announces.
 *
 * @param isCustom - whether it is for a custom resource: nothing is known of how its lists are merged
 *
 * @throws ApiStatusError 415 for a server-side apply, which is not there, and for anything unknown
 */
export function patchTypeOf(contentType: string | undefined, isCustom = false): PatchType {
  const type = mediaType(contentType);
  const patchType = patchTypes[type];
  if (patchType !== undefined && !(isCustom && patchType === "strategic")) return patchType;
  const accepted = Object.keys(patchTypes).join(", ");
  if (type.startsWith("application/apply-patch+"))
    throw unsupportedMediaType(`server-side apply is not supported by the embedded API server - accepted media types include: ${accepted}`);
  // The real server has no more words for this one.
  throw new ApiStatusError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
