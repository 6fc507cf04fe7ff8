import { createHash } from "node:crypto";
import type { Kind } from "../kinds/kind.ts";
import { withEmbeddedFields } from "../kinds/schema/embedded-fields.ts";
import { openApiDefinitions, type OpenApiSchema } from "../kinds/schema/schema.ts";
import { type AggregatedVersions, type ApiResource, apiResources, type GroupVersion, groupVersions } from "./api-resources.ts";
import { listDefinition, listDefinitionName } from "./openapi-lists.ts";
import { bodyDefinition, isConnection, pathItems } from "./openapi-paths.ts";

/** OpenAPI document of one group and version. */
export interface OpenApiDocument {
  readonly body: Uint8Array;
  /** Hash of the document, which clients use as a cache key. */
  readonly hash: string;
}

/** Document at `/openapi/v3`: the index of the other documents. */
export function openApiIndex(kinds: readonly Kind[], aggregated?: AggregatedVersions): unknown {
  const entry = (groupVersion: GroupVersion): [path: string, item: object] => {
    const path = documentPath(groupVersion);
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${openApiDocument(groupVersion, kinds)?.hash}` }];
  };
  return { paths: { ...Object.fromEntries(groupVersions(kinds).map(entry)), ...aggregated?.openApiPaths() } };
}

/** `info` of every document. */
export const kubernetesInfo = { title: "Kubernetes", version: "1.36" };

/** Such as `api/v1` or `apis/apps/v1`. */
export function documentPath({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** Documents of built-in kinds, cached because each takes milliseconds to build. */
const documents = new Map<string, OpenApiDocument>();

/** OpenAPI v3 document of a group and version; `undefined` if it does not exist. */
export function openApiDocument(groupVersion: GroupVersion, kinds: readonly Kind[]): OpenApiDocument | undefined {
  const key = documentPath(groupVersion);
  const resources = apiResources(groupVersion, kinds);
  if (resources.length === 0) return undefined;
  const isFixed = resources.every(({ kind }) => kind.custom === undefined);
  const known = isFixed ? documents.get(key) : undefined;
  if (known !== undefined) return known;
  const body = Buffer.from(JSON.stringify(makeDocument(groupVersion, resources)));
  const made = { body, hash: createHash("sha512").update(body).digest("hex").toUpperCase() };
  if (isFixed) documents.set(key, made);
  return made;
}

function makeDocument(groupVersion: GroupVersion, resources: readonly ApiResource[]): unknown {
  return {
    openapi: "3.0.0",
    info: kubernetesInfo,
    paths: Object.fromEntries(resources.flatMap((resource) => pathItems(resource, `/${documentPath(groupVersion)}`))),
    components: { schemas: schemasOf(resources) },
  };
}

const statusDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

/** Schemas of the resources and of everything they reference. */
function schemasOf(resources: readonly ApiResource[]): Record<string, OpenApiSchema> {
  const custom = resources.flatMap(({ kind }) =>
    kind.custom === undefined ? [] : [[kind.schema, withEmbeddedFields(kind.custom.openApi)] as const],
  );
  const lists = resources.filter(({ verbs }) => verbs.includes("list")).map(({ kind }) => listDefinition(kind));
  const definitions = { ...openApiDefinitions(), ...Object.fromEntries([...custom, ...lists]) };
  const found: Record<string, OpenApiSchema> = {};
  const open = resources.flatMap(({ kind, verbs, subresources }) => [
    kind.schema,
    ...(verbs.includes("list") ? [listDefinitionName(kind), statusDefinition] : []),
    ...subresources.filter(({ body }) => body.kind !== kind.kind && !isConnection(body)).map(({ body }) => bodyDefinition(body)),
  ]);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const schema = definitions[name];
    if (schema === undefined || found[name] !== undefined) continue;
    found[name] = schema;
    open.push(...references(schema));
  }
  return found;
}

function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === "$ref" && typeof child === "string" ? [child.slice(child.lastIndexOf("/") + 1)] : references(child),
  );
}
