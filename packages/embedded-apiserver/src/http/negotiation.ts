import { ApiStatusError, notAcceptable, unsupportedMediaType } from "../errors/api-status-error.ts";
import { protobufMediaType } from "../kinds/schema/protobuf.ts";
import type { PatchType } from "../patch/patch-json.ts";

/** Form of a response's object. */
export type OutputForm = "object" | "table" | "metadata";

interface Accepted {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/**
 * Selects the first form in the client's order of preference that is served. Protobuf and YAML are skipped, because only JSON is served.
 *
 * @throws ApiStatusError 406 if no accepted form is served
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
  const type = mediaTypeOf(contentType);
  if (type === "" || type === "application/json" || type === protobufMediaType) return;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: application/json, ${protobufMediaType}; the embedded API server does not read ${type}`,
  );
}

const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
};

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
  // The real server's message is as short.
  throw new ApiStatusError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });
}

/** Media type of a content type, in lower case and without parameters. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
